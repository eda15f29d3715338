// Mutexes and condition variables of fibers on several workers and of OS threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "sennit/condition_variable.hpp"
#include "sennit/mutex.hpp"
#include "sennit/runtime.hpp"
#include "sync_fixture.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

class ParallelMutex : public sync_test {};
INSTANTIATE_TEST_SUITE_P(Workers, ParallelMutex, every_worker_count);

constexpr wait_options every_kind[] = {
    {},
    {.order = wait_order::recent},
    {.wake = wake_policy::enter},
    {.fairness = fairness::fair},
    {.order = wait_order::recent, .wake = wake_policy::enter, .fairness = fairness::fair},
    {.bias = true},
    {.wake = wake_policy::enter, .fairness = fairness::fair, .bias = true},
};

TEST_P(ParallelMutex, AMutexKeepsOthersOut) {
  for (const wait_options& options : every_kind) {
    mutex guard(options);
    int counter = 0;
    run_all(
        20,
        [&](int) {
          for (int i = 0; i < 200; ++i) {
            std::lock_guard hold(guard);
            const int before = counter;
            if (i % 16 == 0 && detail::this_parallel() != nullptr)
              this_fiber::yield();
            counter = before + 1;
          }
        },
        2);
    EXPECT_EQ(counter, 22 * 200);
    EXPECT_TRUE(guard.try_lock());
    EXPECT_FALSE(guard.try_lock());
    guard.unlock();
  }
}

TEST_P(ParallelMutex, LocksGiveUpAtTheirDeadlines) {
  mutex guard;
  rt.run([&] {
    guard.lock();
    EXPECT_FALSE(guard.try_lock_for(2ms));
    EXPECT_FALSE(guard.try_lock_until(steady::time_point::min()));
    fiber waits = spawn([&] {
      EXPECT_TRUE(guard.try_lock_for(10min));
      guard.unlock();
    });
    this_fiber::sleep_for(1ms);
    guard.unlock();
    waits.join();
  });
  guard.lock();
  EXPECT_FALSE(guard.try_lock_for(2ms)) << "an OS thread";
  guard.unlock();
}

// Deadlines race with unlocks: no waiter is lost, and at most one owns the mutex.
TEST_P(ParallelMutex, DeadlinesRaceWithUnlocks) {
  for (const fairness how : {fairness::barging, fairness::fair}) {
    mutex guard({.fairness = how});
    std::atomic<int> inside{0};
    run_all(
        8,
        [&](int me) {
          for (int i = 0; i < 200; ++i)
            if (guard.try_lock_for(std::chrono::microseconds((me * 7 + i) % 23))) {
              EXPECT_EQ(inside.fetch_add(1), 0);
              if (i % 8 == 0 && detail::this_parallel() != nullptr)
                this_fiber::yield();
              inside.fetch_sub(1);
              guard.unlock();
            }
        },
        1);
    EXPECT_TRUE(guard.try_lock());
    guard.unlock();
  }
}

struct bounded_queue {
  explicit bounded_queue(const wait_options& options) : guard(options), filled(options), emptied(options) {}
  void put(int item) {
    std::unique_lock hold(guard);
    emptied.wait(hold, [&] { return items.size() < 4; });
    items.push_back(item);
    filled.notify_one();
  }
  int get() {
    std::unique_lock hold(guard);
    filled.wait(hold, [&] { return !items.empty(); });
    const int item = items.back();
    items.pop_back();
    emptied.notify_one();
    return item;
  }
  mutex guard;
  condition_variable filled;
  condition_variable emptied;
  std::vector<int> items;
};

TEST_P(ParallelMutex, ConditionVariablesHandOver) {
  for (const wait_options& options : every_kind) {
    bounded_queue queue(options);
    std::atomic<long> sum{0};
    run_all(6, [&](int me) {
      for (int i = 1; i <= 300; ++i)
        if (me % 2 == 0)
          queue.put(i);
        else
          sum += queue.get();
    });
    EXPECT_EQ(sum, 3 * 300 * 301 / 2);
  }
}

TEST_P(ParallelMutex, OSThreadsUseConditionVariablesToo) {
  bounded_queue queue({});
  std::thread producer([&] {
    for (int i = 1; i <= 1000; ++i)
      queue.put(i);
  });
  long sum = 0;
  rt.run([&] {
    for (int i = 1; i <= 1000; ++i)
      sum += queue.get();
  });
  producer.join();
  EXPECT_EQ(sum, 1000 * 1001 / 2);
}

TEST_P(ParallelMutex, NotifyAllWakesAll) {
  mutex guard;
  condition_variable changed;
  int waiting = 0;
  bool go = false;
  run_all(
      50,
      [&](int me) {
        std::unique_lock hold(guard);
        ++waiting;
        if (me == 0) {
          while (waiting < 52) {
            hold.unlock();
            this_fiber::yield();
            hold.lock();
          }
          go = true;
          changed.notify_all();
        }
        changed.wait(hold, [&] { return go; });
      },
      2);
}

TEST_P(ParallelMutex, ConditionVariablesGiveUpAtTheirDeadlines) {
  rt.run([] {
    mutex guard;
    condition_variable never_notified;
    std::unique_lock hold(guard);
    EXPECT_EQ(never_notified.wait_for(hold, 2ms), std::cv_status::timeout);
    EXPECT_TRUE(hold.owns_lock());
    EXPECT_FALSE(never_notified.wait_for(hold, 1ms, [] { return false; }));
  });
}

}  // namespace
}  // namespace sennit
