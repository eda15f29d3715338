// What sennit_gdb_test.py and the tests of dump look at: fibers of both kinds of runtime, each parked for
// another reason, in a program that then stops at everything_is_parked(), or stays or aborts there. Where it
// returns from there, the program dumps its fibers.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "sennit/become.hpp"
#include "sennit/channel.hpp"
#include "sennit/dump.hpp"
#include "sennit/generator.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/mutex.hpp"
#include "sennit/readiness.hpp"
#include "sennit/runtime.hpp"

using namespace std::chrono_literals;

namespace {

volatile bool stay = true;

// Frames to be found in backtraces.
template <class Wait>
[[gnu::noinline]] void inner(Wait& wait) {
  wait();
  __asm__ volatile("");
}
template <class Wait>
[[gnu::noinline]] void outer(Wait wait) {
  inner(wait);
  __asm__ volatile("");
}

}  // namespace

[[gnu::noinline]] void goes_on_without(std::optional<int>) {
  __asm__ volatile("");
}

extern "C" {

[[gnu::noinline]] void waits_for_the_mutex(sennit::mutex& m) {
  m.lock();
  m.unlock();
}
[[gnu::noinline]] void waits_for_the_channel(sennit::channel<int>& c) {
  c.receive();
  __asm__ volatile("");
}
[[gnu::noinline]] void waits_in_a_catch(sennit::channel<int>& c) {
  try {
    throw 1;
  } catch (int) {
    c.receive();
  }
}
[[gnu::noinline]] void reads_nothing() {
  int ends[2];
  if (::pipe(ends) != 0 || ::dup2(ends[0], 100) != 100)
    std::abort();
  sennit::readiness(100).wait_readable();
  __asm__ volatile("");
}
[[gnu::noinline]] void sleeps_long() {
  sennit::this_fiber::sleep_for(1h);
  __asm__ volatile("");
}
[[gnu::noinline]] void joins_the_sleeper(sennit::fiber& f) {
  f.join();
  __asm__ volatile("");
}
[[gnu::noinline]] void runs_on() {
  while (stay)
    __asm__ volatile("");
}
[[gnu::noinline]] void local_waits_for_the_channel(sennit::local::channel<int>& c) {
  c.receive();
  __asm__ volatile("");
}
[[gnu::noinline]] void local_sleeps_long() {
  sennit::local::this_fiber::sleep_for(1h);
  __asm__ volatile("");
}
[[gnu::noinline]] int parks_in_a_generator() {
  sennit::generator<int> numbers([](auto& yield) {
    local_sleeps_long();
    yield(1);
  });
  return *numbers.begin();
}
[[gnu::noinline]] void everything_is_parked(bool abort, bool keep) {
  if (abort)
    std::abort();
  if (keep) {
    static_cast<void>(::write(STDOUT_FILENO, "parked\n", 7));
    for (;;)
      ::pause();
  }
  __asm__ volatile("");
}
[[gnu::noinline]] void everything_is_dumped() {
  __asm__ volatile("");
}
}

int main(int count, char** words) {
  const bool abort = count > 1 && std::strcmp(words[1], "abort") == 0;
  const bool stays = count > 1 && std::strcmp(words[1], "stay") == 0;
  // gdb's generate-core-file stops at a guard that is only marked. (The kernel's cores do not.)
  if (count > 2 && std::strcmp(words[2], "split") == 0)
    sennit::detail::guards = sennit::detail::guard_method::split;
  sennit::runtime runtime({.workers = 2});
  sennit::mutex mutex;
  sennit::channel<int> channel(1);
  mutex.lock();
  auto at_mutex = runtime.spawn([&] { outer([&] { waits_for_the_mutex(mutex); }); }, {.name = "at-mutex"});
  auto at_channel = runtime.spawn([&] { outer([&] { waits_for_the_channel(channel); }); },
                                  {.name = "at-channel", .stack_size = 128 * 1024});
  auto stackless = runtime.spawn([&] { return sennit::become(channel.receiving(), goes_on_without); },
                                 {.name = "stackless"});
  auto in_catch = runtime.spawn([&] { outer([&] { waits_in_a_catch(channel); }); }, {.name = "in-catch"});
  auto sleeper = runtime.spawn([] { outer([] { sleeps_long(); }); }, {.name = "sleeper"});
  auto reader = runtime.spawn([] { outer([] { reads_nothing(); }); }, {.name = "reader"});
  auto joiner = runtime.spawn([&] { outer([&] { joins_the_sleeper(sleeper); }); }, {.name = "joiner"});
  auto runner = runtime.spawn([] { runs_on(); }, {.name = "runner"});
  // Mutexes note their holder while a runtime reports deadlocks: by default, only without NDEBUG.
  sennit::local::runtime({.report_deadlock = true}).run([&] {
    sennit::local::channel<int> nothing;
    auto local_channel =
        sennit::local::spawn([&] { local_waits_for_the_channel(nothing); }, {.name = "local-channel"});
    auto generating = sennit::local::spawn([] { parks_in_a_generator(); }, {.name = "local-generator"});
    auto local_stackless = sennit::local::spawn(
        [&] { return sennit::become(nothing.receiving(), goes_on_without); }, {.name = "local-stackless"});
    sennit::local::mutex local_mutex;
    auto local_holder = sennit::local::spawn(
        [&] {
          local_mutex.lock();
          local_sleeps_long();
        },
        {.name = "local-holder"});
    auto local_at_mutex = sennit::local::spawn([&] { local_mutex.lock(); }, {.name = "local-at-mutex"});
    auto local_joiner = sennit::local::spawn([&] { generating.join(); }, {.name = "local-joiner"});
    sennit::local::this_fiber::sleep_for(200ms);
    auto ready = sennit::local::spawn([] {}, {.name = "not-begun"});
    everything_is_parked(abort, stays);
    sennit::dump(STDOUT_FILENO);
    everything_is_dumped();
    stay = false;
    std::_Exit(0);
  });
}
