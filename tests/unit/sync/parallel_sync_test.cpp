// What fibers on several workers, and OS threads, wait for each other with.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sennit/barrier.hpp"
#include "sennit/channel.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/event.hpp"
#include "sennit/mutex.hpp"
#include "sennit/once.hpp"
#include "sennit/runtime.hpp"
#include "sennit/wait_group.hpp"

namespace {

using namespace sennit;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

class Sync : public testing::TestWithParam<unsigned> {
protected:
  // Runs `count` fibers, and `threads` OS threads, of one function, and waits for all.
  template <class Function>
  void run_all(int count, Function function, int threads = 0) {
    std::vector<std::thread> os;
    for (int i = 0; i < threads; ++i)
      os.emplace_back([&, i] { function(count + i); });
    rt.run([&] {
      std::vector<fiber> all;
      for (int i = 0; i < count; ++i)
        all.push_back(spawn([&, i] { function(i); }));
      for (fiber& each : all)
        each.join();
    });
    for (std::thread& each : os)
      each.join();
  }

  runtime rt{{.workers = GetParam()}};
};

INSTANTIATE_TEST_SUITE_P(Workers, Sync, testing::Values(1u, 2u, 4u));

constexpr wait_options every_kind[] = {
    {},
    {.order = wait_order::recent},
    {.wake = wake_policy::enter},
    {.fairness = fairness::fair},
    {.order = wait_order::recent, .wake = wake_policy::enter, .fairness = fairness::fair},
};

TEST_P(Sync, AMutexKeepsOthersOut) {
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

TEST_P(Sync, LocksGiveUpAtTheirDeadlines) {
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

// Deadlines race with unlocks: nobody is lost, and nobody has it twice.
TEST_P(Sync, DeadlinesRaceWithUnlocks) {
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

TEST_P(Sync, ConditionVariablesHandOver) {
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

TEST_P(Sync, OSThreadsUseConditionVariablesToo) {
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

TEST_P(Sync, NotifyAllWakesAll) {
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

TEST_P(Sync, ConditionVariablesGiveUpAtTheirDeadlines) {
  rt.run([] {
    mutex guard;
    condition_variable never_notified;
    std::unique_lock hold(guard);
    EXPECT_EQ(never_notified.wait_for(hold, 2ms), std::cv_status::timeout);
    EXPECT_TRUE(hold.owns_lock());
    EXPECT_FALSE(never_notified.wait_for(hold, 1ms, [] { return false; }));
  });
}

TEST_P(Sync, ARendezvousHandsEachValueOver) {
  channel<int> values;
  std::atomic<long> sum{0};
  run_all(8, [&](int me) {
    for (int i = 1; i <= 300; ++i)
      if (me % 2 == 0) {
        EXPECT_TRUE(values.send(i));
      } else {
        sum += *values.receive();
      }
  });
  EXPECT_EQ(sum, 4 * 300 * 301 / 2);
}

TEST_P(Sync, ABufferKeepsTheOrder) {
  channel<std::string> values(5);
  EXPECT_EQ(values.capacity(), 5u);
  rt.run([&] {
    fiber producer = spawn([&] {
      for (int i = 0; i < 500; ++i)
        EXPECT_TRUE(values.send(std::to_string(i)));
      values.close();
    });
    int expected = 0;
    for (const std::string& value : values)
      EXPECT_EQ(value, std::to_string(expected++));
    EXPECT_EQ(expected, 500);
    EXPECT_FALSE(values.send("late"));
    EXPECT_FALSE(values.receive());
    producer.join();
  });
}

TEST_P(Sync, ClosingWakesWhoWaits) {
  channel<std::unique_ptr<int>> values;
  std::atomic<int> ended{0};
  rt.run([&] {
    std::vector<fiber> all;
    for (int i = 0; i < 100; ++i)
      all.push_back(spawn([&] {
        EXPECT_FALSE(values.receive());
        ++ended;
      }));
    this_fiber::sleep_for(1ms);
    values.close();
    for (fiber& each : all)
      each.join();
  });
  EXPECT_EQ(ended, 100);
}

TEST_P(Sync, ChannelsGiveUpAtTheirDeadlines) {
  channel<int> values;
  rt.run([&] {
    EXPECT_FALSE(values.receive_until(steady::now() + 2ms));
    EXPECT_FALSE(values.send_until(1, steady::now() + 2ms));
    EXPECT_FALSE(values.try_receive());
    int value = 3;
    EXPECT_FALSE(values.try_send(value));
  });
}

// Every value that a send says it has handed over is received once, and no other.
TEST_P(Sync, DeadlinesRaceWithMessages) {
  channel<int> values;
  std::atomic<long> sent{0};
  std::atomic<long> received{0};
  run_all(
      6,
      [&](int me) {
        for (int i = 1; i <= 300; ++i) {
          const auto deadline = steady::now() + std::chrono::microseconds((me * 5 + i) % 19);
          if (me % 2 == 0) {
            if (values.send_until(i, deadline))
              sent += i;
          } else if (const auto value = values.receive_until(deadline)) {
            received += *value;
          }
        }
      },
      2);
  EXPECT_EQ(sent, received);
}

TEST_P(Sync, SemaphoresCount) {
  counting_semaphore permits(3);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  run_all(
      20,
      [&](int me) {
        for (int i = 0; i < 100; ++i) {
          if (me % 3 == 0 && !permits.try_acquire_for(10us))
            continue;
          if (me % 3 != 0)
            permits.acquire();
          const int now = ++inside;
          for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
          }
          if (i % 8 == 0 && detail::this_parallel() != nullptr)
            this_fiber::yield();
          --inside;
          permits.release();
        }
      },
      2);
  EXPECT_LE(most, 3);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(permits.try_acquire());
  EXPECT_FALSE(permits.try_acquire());
  permits.release(3);
}

TEST_P(Sync, EventsAreForAll) {
  event happened;
  std::atomic<int> seen{0};
  rt.run([&] {
    EXPECT_FALSE(happened.wait_for(1ms));
    std::vector<fiber> all;
    for (int i = 0; i < 30; ++i)
      all.push_back(spawn([&] {
        happened.wait();
        ++seen;
      }));
    happened.set();
    for (fiber& each : all)
      each.join();
    happened.wait();
    happened.reset();
    EXPECT_FALSE(happened.is_set());
  });
  EXPECT_EQ(seen, 30);
}

// Who waits destroys the object at once.
TEST_P(Sync, WhoWaitsMayDestroyTheObject) {
  rt.run([] {
    for (int i = 0; i < 300; ++i) {
      auto pending = std::make_unique<wait_group>(2);
      auto happened = std::make_unique<event>();
      wait_group* const group = pending.get();
      event* const set = happened.get();
      spawn([group] { group->done(); }).detach();
      spawn([group, set] {
        group->done();
        set->set();
      }).detach();
      pending->wait();
      pending.reset();
      happened->wait();
      happened.reset();
    }
  });
}

TEST_P(Sync, BarriersKeepInStep) {
  constexpr int parties = 6;
  int completions = 0;
  std::atomic<int> step[parties] = {};
  barrier together(parties, [&]() noexcept { ++completions; });
  run_all(
      parties - 1,
      [&](int me) {
        for (int i = 1; i <= 100; ++i) {
          step[me] = i;
          together.arrive_and_wait();
          for (const auto& other : step)
            EXPECT_GE(other, i);
          together.arrive_and_wait();
        }
      },
      1);
  EXPECT_EQ(completions, 200);
}

TEST_P(Sync, OnceMeansOnce) {
  once_flag flag;
  int done = 0;
  std::atomic<int> failed{0};
  run_all(
      20,
      [&](int) {
        try {
          call_once(flag, [&] {
            if (failed == 0) {
              if (detail::this_parallel() != nullptr)
                this_fiber::sleep_for(1ms);
              ++failed;
              throw std::runtime_error("first");
            }
            ++done;
          });
        } catch (const std::runtime_error&) {
        }
        if (failed.load() == 1)
          call_once(flag, [&] { ++done; });
        EXPECT_EQ(done, 1);
      },
      2);
}

struct noted {
  explicit noted(std::atomic<int>& of) : count(of) { ++count; }
  ~noted() { --count; }
  std::atomic<int>& count;
};

// A fiber that is ready when its runtime ends is told at its next wait, before it is in any list: the locks
// that it would let go then are let go all the same.
TEST(SyncEnd, WhoIsToldAtAWaitLetsItsLocksGo) {
  for (int kind = 0; kind < 4; ++kind) {
    mutex guard;
    condition_variable changed;
    channel<int> values;
    event happened;
    std::atomic<bool> waits{false};
    std::atomic<bool> left{false};
    {
      auto rt = std::make_unique<runtime>(runtime_options{.workers = 1});
      fiber waiting = rt->spawn([&] {
        struct at_end {
          std::atomic<bool>& of;
          ~at_end() { of = true; }
        } note{left};
        waits = true;
        this_fiber::park();
        if (kind == 0) {
          std::unique_lock hold(guard);
          changed.wait(hold);
        } else if (kind == 1) {
          values.receive();
        } else if (kind == 2) {
          values.send(1);
        } else {
          happened.wait();
        }
        ADD_FAILURE() << "it was not told";
      });
      while (!waits)
        std::this_thread::yield();
      std::atomic<bool> ending{false};
      std::atomic<bool> busy{false};
      rt->post([&] {
        busy = true;
        while (!ending)
          std::this_thread::yield();
      });
      while (!busy)
        std::this_thread::yield();
      waiting.unpark();  // it is ready, and its worker is busy until the runtime ends
      waiting.detach();
      std::thread ends([&] { rt.reset(); });
      std::this_thread::sleep_for(20ms);
      ending = true;
      ends.join();
    }
    EXPECT_TRUE(left) << kind;
    EXPECT_TRUE(guard.try_lock());
    guard.unlock();
    EXPECT_FALSE(values.try_receive());
    EXPECT_EQ(values.size(), 0u);
  }
}

TEST(SyncEnd, ARuntimesEndTakesWaitersOut) {
  for (unsigned workers : {1u, 2u}) {
    std::atomic<int> alive{0};
    mutex guard;
    condition_variable changed;
    channel<int> values;
    event happened;
    counting_semaphore permits(0);
    {
      runtime rt({.workers = workers});
      guard.lock();
      const auto post = [&](auto function) {
        rt.post([&alive, function] {
          noted here(alive);
          function();
        });
      };
      post([&] { guard.lock(); });
      post([&] { static_cast<void>(guard.try_lock_for(1h)); });
      post([&] {
        mutex own;
        std::unique_lock hold(own);
        changed.wait(hold);
      });
      post([&] { values.receive(); });
      post([&] { values.send(1); });
      post([&] { values.receive_until(steady::now() + 1h); });
      post([&] { happened.wait(); });
      post([&] { permits.acquire(); });
      while (alive < 6)  // two of those at the channel meet
        std::this_thread::yield();
      std::this_thread::sleep_for(5ms);
    }
    EXPECT_EQ(alive, 0);
    guard.unlock();
    EXPECT_TRUE(guard.try_lock());
    guard.unlock();
    EXPECT_FALSE(values.try_receive());
  }
}

}  // namespace
