// The signal that stops workers, its handler, and the wait for their answers.
#include "sennit/detail/observe/stop_the_world.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <ctime>

#include "sennit/detail/fault/handler.hpp"
#include "sennit/detail/sched/hooks.hpp"
#include "sennit/detail/sched/registry.hpp"
#include "system/futex.hpp"

namespace sennit::inline v0_1::detail {

namespace {

using namespace std::chrono_literals;

constexpr clock::duration patience_to_stop = 200ms;

// The transitions of a request's state:
//   unused -> asked       by the requester
//   asked -> stopping     by the thread asked, which then fills in its place
//   stopping -> stopped   by the thread asked
//   asked -> given_up     by the requester, after a timeout
//   stopped -> resuming   by the requester
//   resuming -> unused    by the thread asked, at its last look
//   given_up -> unused    by the requester
enum request_state : int { unused, asked, stopping, stopped, given_up, resuming };

struct alignas(64) request {
  std::atomic<int> state{unused};
  std::atomic<int> thread{0};
  stopped_thread place;
};

// Never given back: a handler may run late.
constexpr std::size_t most_requests = 512;
constinit request requests[most_requests];

struct sigaction former;

void nap() noexcept {
  const timespec time{0, 50'000};
  ::nanosleep(&time, nullptr);
}

// ThreadSanitizer defers signals, and calls their handlers later, at another place of the thread.
std::uintptr_t stack_pointer_of(const void* context) noexcept {
#if defined(SENNIT_TSAN)
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (stack_find(here).found)
    return here;
#endif
  return interrupted_stack_pointer(context);
}

void stop_here(const void* context) noexcept {
  const int self = static_cast<int>(::syscall(SYS_gettid));
  for (request& each : requests) {
    int expected = asked;
    if (each.thread.load(std::memory_order_relaxed) != self ||
        !each.state.compare_exchange_strong(expected, stopping, std::memory_order_acquire))
      continue;
    each.place.stack_pointer = stack_pointer_of(context);
    each.place.depth = backtrace_interrupted(context, each.place.at);
    each.state.store(stopped, std::memory_order_release);
    while (each.state.load(std::memory_order_acquire) == stopped)
      futex_wait<int>(each.state, stopped);
    each.state.store(unused, std::memory_order_release);
    return;
  }
}

void on_signal(int signal, siginfo_t* info, void* context) noexcept {
  const int kept = errno;
  if (info->si_code == SI_QUEUE && info->si_value.sival_ptr == requests)
    stop_here(context);
  else if ((former.sa_flags & SA_SIGINFO) != 0)
    former.sa_sigaction(signal, info, context);
  else if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN)
    former.sa_handler(signal);
  errno = kept;
}

void install_handler() noexcept {
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  ::sigfillset(&action.sa_mask);
  ::sigdelset(&action.sa_mask, SIGSEGV);  // see fault_survived
  ::sigdelset(&action.sa_mask, SIGBUS);
  ::sigaction(stop_the_world::signal, &action, &former);
}

bool send_signal(int thread) noexcept {
  siginfo_t info{};
  info.si_signo = stop_the_world::signal;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_ptr = requests;
  return ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread, stop_the_world::signal, &info) == 0;
}

}  // namespace

stop_the_world::stop_the_world(const void* frame, const worker* only) noexcept
    : registered_(registry_lock()), described_(descriptors_lock()) {
  fault_watch_thread();
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  world_is_stopped.exchange(1, std::memory_order_seq_cst);
  for (const registration* each = sennit_debug.workers; each != nullptr; each = each->older)
    if (only == nullptr || each->worker == only)
      ask(*each->worker, frame);
  await_answers();
}

void stop_the_world::ask(const worker& w, const void* frame) noexcept {
  const int thread = w.thread.load(std::memory_order_seq_cst);
  if (thread == 0)
    return;
  if (&w == this_worker()) {
    own_.stack_pointer = reinterpret_cast<std::uintptr_t>(frame);
    own_.depth = backtrace_here(frame, own_.at);
    return;
  }
  request* const mine = std::ranges::find_if(
      requests, [](const request& each) { return each.state.load(std::memory_order_acquire) == unused; });
  if (mine == std::end(requests)) {
    all_asked_ = false;
    return;
  }
  mine->thread.store(thread, std::memory_order_relaxed);
  mine->state.store(asked, std::memory_order_release);
  if (!send_signal(thread))
    mine->state.store(given_up, std::memory_order_relaxed);
}

void stop_the_world::await_answers() noexcept {
  const time_point limit = clock::now() + patience_to_stop;
  for (request& each : requests) {
    for (int state = each.state.load(std::memory_order_acquire); state == asked || state == stopping;
         state = each.state.load(std::memory_order_acquire)) {
      if (state == asked && clock::now() >= limit) {
        int expected = asked;
        each.state.compare_exchange_strong(expected, given_up, std::memory_order_acquire);
      } else {
        nap();
      }
    }
  }
}

void stop_the_world::resume() noexcept {
  if (!std::exchange(held_, false))
    return;
  for (request& each : requests) {
    if (each.thread.exchange(0, std::memory_order_relaxed) == 0)
      continue;
    const int stays = each.state.load(std::memory_order_relaxed);
    each.state.store(stays == stopped ? resuming : unused, std::memory_order_release);
    if (stays == stopped)
      futex_wake(each.state, INT_MAX);
  }
  world_is_stopped.store(0, std::memory_order_release);
  futex_wake(world_is_stopped, INT_MAX);
  described_.unlock();
  registered_.unlock();
}

const stopped_thread* stop_the_world::place_of(const worker& w) const noexcept {
  if (&w == this_worker())
    return &own_;
  const int thread = w.thread.load(std::memory_order_relaxed);
  for (const request& each : requests)
    if (thread != 0 && each.thread.load(std::memory_order_relaxed) == thread &&
        each.state.load(std::memory_order_acquire) == stopped)
      return &each.place;
  return nullptr;
}

// A thread that became the worker after the search waits where it begins.
bool stop_the_world::is_stopped(const worker& w) const noexcept {
  if (place_of(w) != nullptr)
    return true;
  const int thread = w.thread.load(std::memory_order_relaxed);
  return thread == 0 || (all_asked_ && std::ranges::none_of(requests, [&](const request& each) {
                           return each.thread.load() == thread;
                         }));
}

void wait_until_resumed() noexcept {
  while (world_is_stopped.load(std::memory_order_acquire) != 0)
    futex_wait(world_is_stopped, 1);
}

}  // namespace sennit::inline v0_1::detail
