// Workers that have nothing to do, and workers that are stuck in a fiber.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sennit/runtime.hpp"
#include "support/busy_workers.hpp"
#include "support/policies.hpp"

namespace {

using namespace sennit;
using namespace std::chrono_literals;

// What the worker threads of this process have done so far.
struct activity {
  long sleeps = 0;    // how often they have given their processor up
  long cpu_time = 0;  // nanoseconds on one
  bool operator==(const activity&) const = default;
};

activity activity_of_workers() {
  activity sum;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    bool worker = false;
    for (std::string line; std::getline(status, line);) {
      constexpr std::string_view name = "Name:\tsennit/";  // and the worker's number
      worker |= line.starts_with(name) && line.find_first_of("0123456789") == name.size();
      if (worker && line.starts_with("voluntary_ctxt_switches:"))
        sum.sleeps += std::stol(line.substr(line.find('\t')));
    }
    long cpu_time;
    std::ifstream schedstat(task.path() / "schedstat");
    if (worker && schedstat >> cpu_time)
      sum.cpu_time += cpu_time;
  }
  return sum;
}

// Until no worker has slept and woken, or spun, for a second.
bool comes_to_rest() {
  int quiet = 0;
  for (int i = 0; i < 200 && quiet < 10; ++i) {
    const activity before = activity_of_workers();
    std::this_thread::sleep_for(100ms);
    quiet = activity_of_workers() == before ? quiet + 1 : 0;
  }
  return quiet == 10;
}

class ParallelIdle : public testing::TestWithParam<run_policy> {};

TEST_P(ParallelIdle, NobodyWakesWithoutWork) {
  runtime rt({.workers = 4, .policy = GetParam()});
  fiber parked = rt.spawn([] { this_fiber::park(); });
  rt.run([] {
    for (int i = 0; i < 100; ++i)
      spawn([] { this_fiber::yield(); }).join();
  });
  EXPECT_TRUE(comes_to_rest());
  EXPECT_GT(activity_of_workers().cpu_time, 0) << "no schedstat";
  // And comes back from rest.
  EXPECT_EQ(rt.run([] { return 1; }), 1);
  EXPECT_TRUE(comes_to_rest());
  parked.unpark();
  parked.join();
}

// A worker that only one other could wake sleeps all the same: no worker polls for it.
TEST_P(ParallelIdle, SleepersOfLaterDeadlinesRestToo) {
  runtime rt({.workers = 2, .policy = GetParam()});
  fiber late = rt.spawn([] { this_fiber::park_until(std::chrono::steady_clock::now() + 1h); });
  EXPECT_TRUE(comes_to_rest());
  late.unpark();
  late.join();
}

// Two fibers that wake each other stay on one worker: the others are not woken for each of the wakes, or they
// would sleep as often.
TEST_P(ParallelIdle, AWakeIsNoSystemCallWhereNobodyNeedsToCome) {
  if (std::thread::hardware_concurrency() < 2)
    GTEST_SKIP() << "one processor";
  runtime rt({.workers = 2, .policy = GetParam()});
  constexpr long rounds = 200'000;
  const long before = activity_of_workers().sleeps;
  const auto begin = std::chrono::steady_clock::now();
  rt.run([] {
    std::atomic<bool> over{false};
    fiber other = spawn([&] {
      while (!over)
        this_fiber::park();
    });
    for (long i = 0; i < rounds; ++i) {
      other.unpark();
      this_fiber::yield();
    }
    over = true;
    other.unpark();
    other.join();
  });
  // But the watcher wakes, every millisecond.
  const auto time = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(activity_of_workers().sleeps - before, rounds / 20 + 4 * (time / 1ms));
}

using support::spin_until;

class Stuck : public testing::TestWithParam<run_policy> {
protected:
  runtime rt{{.workers = 2, .policy = GetParam()}};
  std::atomic<bool> done{false};
};

TEST_P(Stuck, WhoIsNextInTheRingGoesOnElsewhere) {
  rt.run([&] {
    spawn([&] { done = true; }).detach();
    spin_until([&] { return done.load(); });
  });
}

TEST_P(Stuck, WhoWasWokenGoesOnElsewhere) {
  rt.run([&] {
    fiber other = spawn([&] {
      this_fiber::park();
      done = true;
    });
    this_fiber::yield();
    other.unpark();
    spin_until([&] { return done.load(); });
    other.join();
  });
}

TEST_P(Stuck, WhoGaveWayGoesOnElsewhere) {
  rt.run([&] {
    std::atomic<bool> stop{false};
    fiber other = spawn([&] {
      while (!stop)
        this_fiber::yield();
      done = true;
    });
    this_fiber::yield();
    stop = true;
    spin_until([&] { return done.load(); });
    other.join();
  });
}

TEST_P(Stuck, WhoSleepsIsWokenElsewhere) {
  rt.run([&] {
    fiber other = spawn([&] {
      this_fiber::sleep_for(2ms);
      done = true;
    });
    this_fiber::yield();
    spin_until([&] { return done.load(); });
    other.join();
  });
}

TEST_P(Stuck, WhoWasSentThereGoesOnElsewhere) {
  rt.run([&] {
    for (int i = 0; i < 3; ++i) {  // before the watcher has looked for the first time, and after
      done = false;
      spawn([&] { done = true; }, {.near = this_fiber::worker()}).detach();
      spin_until([&] { return done.load(); });
    }
  });
}

// A fiber pinned there waits for it, although other workers look through its inbox.
TEST_P(Stuck, WhoIsPinnedThereWaitsForItsWorker) {
  std::vector<int> ran;
  std::vector<unsigned> where;
  rt.spawn(
        [&] {
          std::vector<fiber> children;
          for (int i = 0; i < 4; ++i)
            std::jthread([&, i] {  // from outside: through the worker's arrivals
              children.push_back(rt.spawn(
                  [&, i] {
                    ran.push_back(i);
                    where.push_back(this_fiber::worker());
                  },
                  {.pinned = 0}));
            })
                .join();
          fiber sent = spawn([&] { done = true; }, {.near = 0});
          spin_until([&] { return done.load(); });  // so the others have been taken, too, and sent back
          EXPECT_EQ(ran, std::vector<int>());
          for (fiber& each : children)
            each.join();
          sent.join();
        },
        {.pinned = 0})
      .join();
  std::sort(ran.begin(), ran.end());
  EXPECT_EQ(ran, (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(where, (std::vector{0u, 0u, 0u, 0u}));
}

TEST_P(Stuck, AParentOfSpawnNowGoesOnElsewhere) {
  rt.run([&] {
    fiber child = spawn_now([&] { spin_until([&] { return done.load(); }); });
    done = true;
    child.join();
  });
}

// No worker sleeps: the other one is busy with a fiber that yields to itself all the time.
TEST_P(Stuck, WhoWaitsGoesOnBesideAFiberThatOnlyYields) {
  std::atomic<bool> busy{false};
  std::atomic<bool> stop{false};
  fiber yields = rt.spawn(
      [&] {
        busy = true;
        while (!stop)
          this_fiber::yield();
      },
      {.pinned = 1});
  rt.spawn(
        [&] {
          spin_until([&] { return busy.load(); });
          spawn([&] { done = true; }).detach();
          spin_until([&] { return done.load(); });
        },
        {.pinned = 0})
      .join();
  stop = true;
  yields.join();
}

// After a long rest there is no watcher any more: the worker that begins sees to it that there is one.
TEST_P(Stuck, AWatcherComesBackAfterARest) {
  ASSERT_TRUE(comes_to_rest());
  rt.run([&] {
    spawn([&] { done = true; }).detach();
    spin_until([&] { return done.load(); });
  });
}

INSTANTIATE_TEST_SUITE_P(Policies, ParallelIdle, support::every_policy(), support::policy_name);
INSTANTIATE_TEST_SUITE_P(Policies, Stuck, support::every_policy(), support::policy_name);

}  // namespace
