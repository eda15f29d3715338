// Steals while no worker is stuck: no watcher takes part.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "sennit/runtime.hpp"
#include "support/busy_workers.hpp"

namespace {

using namespace sennit;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

// No worker is this one.
constexpr unsigned nowhere = ~0u;

// The fiber could only wait for its spawner, which computes: so a sleeper is woken for it at once, and takes
// it though it is the only one.
TEST(ParallelSteal, ALoneFiberGoesToASleeperWhileItsWorkerComputes) {
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    runtime rt({.workers = 2});  // a new one, which has yet to wake a worker for a lone fiber
    support::held_worker other(rt, 1);
    const auto spawner = [&] {
      std::atomic<unsigned> ran_on{nowhere};
      const detail::parallel_runtime& shared = detail::running_parallel().runtime;
      fiber lone;
      {
        const support::unwatched nobody_helps;
        other.let_go();
        support::spin_until([&] { return shared.asleep.sleeps(1); });
        lone = spawn([&] { ran_on = this_fiber::worker(); });
        const auto end = steady::now() + 10s;
        support::spin_until([&] { return ran_on != nowhere || steady::now() > end; });
        EXPECT_EQ(ran_on, 1u);
      }
      lone.join();
    };
    rt.spawn(spawner, {.pinned = 0}).join();
  }
}

// A worker that has nothing takes half of what one has that dispatches all the time.
TEST(ParallelSteal, HalfOfManyGoToAWorkerThatHasNothing) {
  constexpr unsigned count = 100;
  static_assert(count < detail::ring_capacity, "else some overflow, and are anybody's");
  runtime rt({.workers = 2});
  std::optional<support::held_worker> other(std::in_place, rt, 1);
  const auto owner = [&] {
    std::atomic<bool> done{false};
    std::atomic<std::size_t> stolen{0};  // said by the first of them
    std::vector<fiber> all;
    for (unsigned i = 0; i < count; ++i)
      all.push_back(spawn([&] {
        for (; !done; this_fiber::yield())
          if (this_fiber::worker() == 1 && stolen == 0)
            stolen = 1 + detail::running_parallel().ring.owned();
      }));
    {
      const support::unwatched nobody_helps;
      other->let_go();  // now that it is not the only one
      const auto end = steady::now() + 10s;
      while (stolen == 0 && steady::now() < end)
        this_fiber::yield();
      EXPECT_GE(stolen, count / 4);
      EXPECT_LE(stolen, count - count / 4);
    }
    done = true;
    for (fiber& each : all)
      each.join();
  };
  rt.spawn(owner, {.pinned = 0}).join();
}

}  // namespace
