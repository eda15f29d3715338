// Runs a program of this folder in a fiber, beside a fiber that plays, which is due once in every period.
//
//   usage: PROGRAM TIMER PERIOD_NS ARGUMENT...      the arguments are the program's own
//
// TIMER says what makes the program give way:
//   none    nothing
//   thread  nothing, but there is a second thread, which sleeps: libc locks where there is more than one
//   slice   its checks, when the runtime's time slice is over
//   byte    its checks, when a thread on another CPU has set the flag that they test: for periods that are
//           shorter than a slice can be. The thread waits for the time without sleeping, as the timer
//           hardware of Jaaskelainen 2008 does.
//   always  its checks, each
//   signal  a signal, whose handler yields; the program need not have checks
//
// A player's turn plays what is due: one sample in each period. One that has no turn in its period is missed.
// (With `always` each turn plays one.) Prints on stderr a line of JSON: CPU time of the program's thread and
// time that passed, both in ns; turns, periods, and how many of these were missed.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "sennit/detail/sched/time_slice.hpp"
#include "sennit/local/runtime.hpp"

extern "C" {
int program_main(int argc, char** argv);

// The sound that is decoded, of programs that have one.
extern const std::int16_t* volatile sennit_sound __attribute__((weak));

// What -sennit-polls-ir=call calls.
void sennit_poll(void);
void sennit_poll(void) {
  if (sennit_yield_requested != 0)
    sennit_forced_yield();
}
}

namespace {

std::uint64_t time_of(clockid_t clock) {
  timespec time;
  ::clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

std::string_view timer;
std::uint64_t period;
std::uint64_t start;
std::atomic<bool> over{false};

// ---- The player.

struct {
  std::uint64_t turns = 0, period = 0, missed = 0;
  int loudness = 0;

  // Where each check yields, a sample of the sound at each turn: to read the clock would take longer.
  void take_turn(bool always) {
    ++turns;
    if (always) {
      play(turns);
      return;
    }
    const std::uint64_t now = (time_of(CLOCK_MONOTONIC) - start) / ::period;
    if (now == period)
      return;
    missed += now - period - 1;
    period = now;
    play(period);
  }

  void play(std::uint64_t sample) {
    if (&sennit_sound != nullptr && sennit_sound != nullptr)
      loudness += sennit_sound[sample % 1152];
  }
} player;

void play() {
  const bool always = timer == "always";
  while (!over.load(std::memory_order_relaxed)) {
    player.take_turn(always);
    if (always)
      sennit_yield_requested = 1;
    sennit::local::this_fiber::yield();
  }
}

// ---- Timers.

void pin(pthread_t thread, bool first) {
  cpu_set_t all;
  if (::sched_getaffinity(0, sizeof all, &all) != 0)
    fail("sched_getaffinity");
  int chosen = -1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && (chosen < 0 || !first))
      chosen = cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(chosen, &one);
  if (::pthread_setaffinity_np(thread, sizeof one, &one) != 0)
    fail("pthread_setaffinity_np");
}

// Sets the flag of the thread that calls this.
std::thread start_byte_timer() {
  std::thread made([flag = &sennit_yield_requested] {
    for (std::uint64_t due = start + period; !over.load(std::memory_order_relaxed);) {
      const std::uint64_t now = time_of(CLOCK_MONOTONIC);
      if (now < due)
        continue;
      __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
      due += (now - due) / period * period + period;
    }
  });
  pin(made.native_handle(), false);
  pin(::pthread_self(), true);
  return made;
}

volatile sig_atomic_t in_program = 0;

// Comes in the program's own code only: it is blocked while its handler runs, and so while the others do.
timer_t start_signal_timer() {
  struct sigaction action{};
  action.sa_handler = [](int) {
    if (in_program != 0)
      sennit_forced_yield();
  };
  action.sa_flags = SA_RESTART;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGRTMIN;
  event._sigev_un._tid = ::gettid();
  timer_t made;
  const timespec each{static_cast<time_t>(period / 1'000'000'000), static_cast<long>(period % 1'000'000'000)};
  const itimerspec when{each, each};
  if (::sigaction(SIGRTMIN, &action, nullptr) != 0 || ::timer_create(CLOCK_MONOTONIC, &event, &made) != 0 ||
      ::timer_settime(made, 0, &when, nullptr) != 0)
    fail("timer_create");
  return made;
}

int run(int argc, char** argv) {
  std::thread second;
  timer_t signal_timer{};
  start = time_of(CLOCK_MONOTONIC);
  if (timer == "byte")
    second = start_byte_timer();
  else if (timer == "thread")
    second = std::thread([] { over.wait(false); });
  else if (timer == "signal")
    signal_timer = start_signal_timer();
  else if (timer == "always")
    sennit_yield_requested = 1;
  in_program = 1;
  std::uint64_t cpu = time_of(CLOCK_THREAD_CPUTIME_ID);
  const int status = program_main(argc, argv);
  cpu = time_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
  in_program = 0;
  const std::uint64_t passed = time_of(CLOCK_MONOTONIC) - start;
  if (timer == "signal")
    ::timer_delete(signal_timer);
  over = true;
  over.notify_all();
  if (second.joinable())
    second.join();
  sennit_yield_requested = 0;
  const std::uint64_t periods = passed / period;
  // Where each check yields, the player does not look whether it is late.
  const std::uint64_t missed =
      timer == "always" ? 0 : player.missed + periods - std::min(periods, player.period);
  std::fprintf(stderr,
               "{\"cpu\": %" PRIu64 ", \"passed\": %" PRIu64 ", \"turns\": %" PRIu64 ", \"periods\": %" PRIu64
               ", \"missed\": %" PRIu64 "}\n",
               cpu, passed, player.turns, periods, missed);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || (period = std::strtoull(argv[2], nullptr, 10)) == 0)
    return 2;
  timer = argv[1];
  argv[2] = argv[0];
  sennit::local::runtime runtime(
      {.stack_size = 1 << 20,
       .time_slice = std::chrono::nanoseconds(timer == "slice" ? static_cast<long>(period) : 0)});
  return runtime.run([&] {
    if (timer == "none" || timer == "thread")
      return run(argc - 2, argv + 2);
    sennit::local::fiber plays = sennit::local::spawn(play);
    const int status = run(argc - 2, argv + 2);
    plays.join();
    return status;
  });
}
