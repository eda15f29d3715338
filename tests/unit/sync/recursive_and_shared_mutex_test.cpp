// Recursive and shared mutexes of fibers on several workers and of OS threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "sennit/event.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/recursive_mutex.hpp"
#include "sennit/runtime.hpp"
#include "sennit/shared_mutex.hpp"
#include "sync_fixture.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

void yield_in_fiber() {
  if (detail::this_parallel() != nullptr)
    this_fiber::yield();
}

void until(const std::atomic<int>& count, int wanted) {
  while (count < wanted)
    if (detail::this_parallel() != nullptr)
      this_fiber::sleep_for(100us);
    else
      std::this_thread::yield();
}

// ---- recursive_mutex

class ParallelRecursiveMutex : public sync_test {};
INSTANTIATE_TEST_SUITE_P(Workers, ParallelRecursiveMutex, every_worker_count);

TEST_P(ParallelRecursiveMutex, OnlyItsOwnerLocksItAgain) {
  recursive_mutex guard;
  int counter = 0;
  run_all(
      20,
      [&](int me) {
        for (int i = 0; i < 100; ++i) {
          std::lock_guard hold(guard);
          const int before = counter;
          if ((i + me) % 8 == 0)
            yield_in_fiber();  // and goes on, perhaps, on another worker
          const std::scoped_lock again(guard);
          EXPECT_TRUE(guard.try_lock());
          EXPECT_TRUE(guard.try_lock_for(1ms));
          guard.unlock();
          guard.unlock();
          counter = before + 1;
        }
      },
      2);
  EXPECT_EQ(counter, 22 * 100);
}

// Fibers of one worker, and the OS thread that made them, are not one owner.
TEST_P(ParallelRecursiveMutex, AnotherFiberIsAnotherOwner) {
  recursive_mutex guard;
  rt.run([&] {
    guard.lock();
    guard.lock();
    spawn_now([&] { EXPECT_FALSE(guard.try_lock()); }).join();
    spawn([&] { EXPECT_FALSE(guard.try_lock_for(1ms)); }).join();
    EXPECT_FALSE(std::async(std::launch::async, [&] { return guard.try_lock(); }).get());
    guard.unlock();
    spawn([&] { EXPECT_FALSE(guard.try_lock()) << "locked once more"; }).join();
    guard.unlock();
    spawn([&] {
      EXPECT_TRUE(guard.try_lock_until(steady::now() + 10min));
      guard.unlock();
    }).join();
  });
  guard.lock();
  guard.lock();
  rt.run([&] { EXPECT_FALSE(guard.try_lock_until(steady::time_point::min())); });
  guard.unlock();
  guard.unlock();
  EXPECT_TRUE(guard.try_lock());
  guard.unlock();
}

TEST(RecursiveMutex, FibersOfALocalRuntimeAreOwnersToo) {
  recursive_mutex guard;
  local::runtime().run([&] {
    const std::scoped_lock hold(guard, guard);
    local::spawn([&] { EXPECT_FALSE(guard.try_lock()); }).join();
    EXPECT_TRUE(guard.try_lock());
    guard.unlock();
  });
  EXPECT_TRUE(guard.try_lock());
  guard.unlock();
}

TEST_P(ParallelRecursiveMutex, DeadlinesRaceWithUnlocks) {
  recursive_mutex guard({.fairness = fairness::fair});
  int inside = 0;
  run_all(
      8,
      [&](int me) {
        for (int i = 0; i < 200; ++i)
          if (guard.try_lock_for(std::chrono::microseconds((me * 7 + i) % 23))) {
            const std::unique_lock again(guard);
            EXPECT_EQ(++inside, 1);
            if (i % 8 == 0)
              yield_in_fiber();
            --inside;
            guard.unlock();
          }
      },
      1);
  EXPECT_TRUE(guard.try_lock());
  guard.unlock();
}

#if !defined(NDEBUG) && !defined(SENNIT_SANITIZED)
TEST(RecursiveMutexDeathTest, ToUnlockWhatAnotherHasLockedIsAMisuse) {
  recursive_mutex guard;
  EXPECT_DEATH(guard.unlock(), "owner");
  guard.lock();
  EXPECT_DEATH(std::thread([&] { guard.unlock(); }).join(), "owner");
  guard.unlock();
}
TEST(SharedMutexDeathTest, ToUnlockWhatIsNotLockedSoIsAMisuse) {
  shared_mutex guard;
  EXPECT_DEATH(guard.unlock(), "not locked so");
  EXPECT_DEATH(guard.unlock_shared(), "nobody shares");
  guard.lock_shared();
  EXPECT_DEATH(guard.unlock(), "not locked so");
  guard.unlock_shared();
}
#endif

// ---- shared_mutex

class ParallelSharedMutex : public sync_test {};
INSTANTIATE_TEST_SUITE_P(Workers, ParallelSharedMutex, every_worker_count);

// Two numbers that only a writer may see differ.
struct guarded {
  shared_mutex guard;
  int first = 0;
  int second = 0;
  std::atomic<int> readers{0};
  std::atomic<int> writers{0};

  void write(bool pause) {
    EXPECT_EQ(++writers, 1);
    EXPECT_EQ(readers, 0);
    ++first;
    if (pause)
      yield_in_fiber();
    ++second;
    --writers;
  }
  void read(bool pause) {
    ++readers;
    EXPECT_EQ(writers, 0);
    const int seen = first;
    if (pause)
      yield_in_fiber();
    EXPECT_EQ(seen, second);
    --readers;
  }
};

TEST_P(ParallelSharedMutex, WritersAreAloneAndReadersSeeWhole) {
  guarded data;
  std::atomic<int> writes{0};
  run_all(
      20,
      [&](int me) {
        for (int i = 0; i < 200; ++i)
          if ((i + me) % 5 == 0) {
            const std::scoped_lock writing(data.guard);
            data.write(i % 3 == 0);
            ++writes;
          } else {
            const std::shared_lock reading(data.guard);
            data.read(i % 7 == 0);
          }
      },
      2);
  EXPECT_EQ(data.first, writes);
  EXPECT_TRUE(data.guard.try_lock());
  EXPECT_FALSE(data.guard.try_lock_shared());
  data.guard.unlock();
}

TEST_P(ParallelSharedMutex, ReadersAreTogether) {
  shared_mutex guard;
  std::atomic<int> inside{0};
  run_all(
      10,
      [&](int) {
        const std::shared_lock reading(guard);
        ++inside;
        until(inside, 12);
        EXPECT_FALSE(guard.try_lock());
        EXPECT_FALSE(guard.try_lock_for(10us));
      },
      2);
  EXPECT_TRUE(guard.try_lock());
  guard.unlock();
}

// All on one worker: a fiber that has begun has run until it waits.
TEST_P(ParallelSharedMutex, WhoWaitsIsServedInOrderAndReadersNextToEachOtherTogether) {
  shared_mutex guard;
  std::string order;
  int together = 0;
  const spawn_options here = {.pinned = GetParam() - 1};
  const auto in_order = [&] {
    std::vector<fiber> all;
    const auto comes = [&](char what) {
      bool begun = false;
      all.push_back(spawn(
          [&, what] {
            begun = true;
            if (what == 'w') {
              const std::lock_guard writing(guard);
              order += what;
              return;
            }
            const std::shared_lock reading(guard);
            order += what;
            together += what == 'p' ? 1 : 0;
            while (what == 'p' && together < 2)  // neither of the pair lets go before both are in
              this_fiber::yield();
          },
          here));
      while (!begun)
        this_fiber::yield();
    };
    guard.lock_shared();
    comes('r');
    comes('w');
    EXPECT_FALSE(guard.try_lock_shared()) << "a writer waits";
    EXPECT_FALSE(guard.try_lock_shared_for(10us));
    for (char each : {'p', 'p', 'w', 'w', 'r'})
      comes(each);
    EXPECT_EQ(order, "r");
    guard.unlock_shared();
    for (fiber& each : all)
      each.join();
  };
  rt.spawn(in_order, here).join();
  EXPECT_EQ(order, "rwppwwr");
}

// Readers that overlap all the time do not keep a writer out.
TEST_P(ParallelSharedMutex, WritersDoNotStarve) {
  shared_mutex guard;
  std::atomic<bool> written{false};
  run_all(
      6,
      [&](int me) {
        if (me == 5) {
          const std::lock_guard writing(guard);
          written = true;
          return;
        }
        std::shared_lock mine(guard);
        while (!written) {
          yield_in_fiber();
          mine.unlock();
          mine.lock();
        }
      },
      2);
  EXPECT_TRUE(written);
}

TEST_P(ParallelSharedMutex, LocksGiveUpAtTheirDeadlines) {
  shared_mutex guard;
  rt.run([&] {
    std::unique_lock writing(guard);
    EXPECT_FALSE(guard.try_lock_for(1ms));
    EXPECT_FALSE(guard.try_lock_shared_for(1ms));
    EXPECT_FALSE(guard.try_lock_shared_until(steady::time_point::min()));
    fiber reads = spawn([&] { EXPECT_TRUE(std::shared_lock(guard, 10min)); });
    fiber writes = spawn([&] { EXPECT_TRUE(std::unique_lock(guard, 10min)); });
    this_fiber::sleep_for(1ms);
    writing.unlock();
    reads.join();
    writes.join();
  });
  guard.lock_shared();
  EXPECT_TRUE(guard.try_lock_shared_for(1ms)) << "an OS thread";
  EXPECT_FALSE(guard.try_lock_for(1ms));
  guard.unlock_shared();
  guard.unlock_shared();
}

// A reader that waits behind a writer which gives up must not wait for the readers that hold it: they may
// wait for it.
TEST_P(ParallelSharedMutex, AWriterThatGivesUpLetsReadersIn) {
  for (int round = 0; round < 10; ++round)
    rt.run([&] {
      shared_mutex guard;
      event in;
      const std::shared_lock mine(guard);
      std::atomic<bool> gone{false};
      fiber writer = spawn([&] {
        EXPECT_FALSE(guard.try_lock_for(3ms));
        gone = true;
      });
      while (!gone && guard.try_lock_shared()) {
        guard.unlock_shared();
        this_fiber::sleep_for(100us);
      }
      std::thread reader([&] {
        const std::shared_lock theirs(guard);
        in.set();
      });
      fiber other = spawn([&] { const std::shared_lock theirs(guard); });
      in.wait();
      other.join();
      writer.join();
      reader.join();
    });
}

TEST_P(ParallelSharedMutex, DeadlinesRaceWithUnlocks) {
  guarded data;
  std::atomic<int> writes{0};
  run_all(
      8,
      [&](int me) {
        for (int i = 0; i < 300; ++i) {
          const std::chrono::microseconds patience((me * 7 + i) % 23);
          if ((i + me) % 3 == 0) {
            if (const std::unique_lock writing(data.guard, patience); writing) {
              data.write(i % 4 == 0);
              ++writes;
            }
          } else if (const std::shared_lock reading(data.guard, patience); reading) {
            data.read(i % 4 == 0);
          }
        }
      },
      2);
  EXPECT_EQ(data.first, writes);
  EXPECT_TRUE(data.guard.try_lock());
  data.guard.unlock();
}

// ---- The runtime's end

TEST(SharedMutexEnd, ARuntimesEndTakesWaitersOut) {
  for (unsigned workers : {1u, 2u}) {
    std::atomic<int> coming{0};
    std::atomic<int> left{0};
    shared_mutex guard;
    recursive_mutex other;
    guard.lock_shared();
    other.lock();
    std::atomic<bool> got{false};
    std::thread reader;
    {
      runtime rt({.workers = workers});
      const auto post = [&](auto lock) {
        rt.post([&, lock] {
          struct at_end {
            std::atomic<int>& of;
            ~at_end() { ++of; }
          } note{left};
          ++coming;
          lock();
          ADD_FAILURE() << "it was not told";
        });
      };
      post([&] { guard.lock(); });
      post([&] { static_cast<void>(guard.try_lock_for(1h)); });
      until(coming, 2);
      while (guard.try_lock_shared())
        guard.unlock_shared();
      post([&] { other.lock(); });
      post([&] { static_cast<void>(other.try_lock_for(1h)); });
      until(coming, 4);
      reader = std::thread([&] {
        const std::shared_lock reading(guard);  // behind writers that leave
        got = true;
      });
      std::this_thread::sleep_for(5ms);
      EXPECT_FALSE(got);
    }
    reader.join();
    EXPECT_EQ(left, 4);
    guard.unlock_shared();
    EXPECT_TRUE(guard.try_lock());
    guard.unlock();
    other.unlock();
    EXPECT_TRUE(std::async(std::launch::async, [&] {
                  const bool free = other.try_lock();
                  if (free)
                    other.unlock();
                  return free;
                }).get());
  }
}

// Locks that are held when the runtime ends are let go by their owners' destructors.
TEST(SharedMutexEnd, WhoLeavesUnlocks) {
  shared_mutex guard;
  recursive_mutex other;
  event never_set;
  std::atomic<int> inside{0};
  {
    runtime rt({.workers = 2});
    for (int i = 0; i < 4; ++i)
      rt.post([&, i] {
        const std::shared_lock reading(guard);
        std::unique_lock twice(other, std::defer_lock);
        std::unique_lock once(other, std::defer_lock);
        if (i == 0) {
          once.lock();
          twice.lock();
        }
        ++inside;
        never_set.wait();
      });
    until(inside, 4);
  }
  EXPECT_TRUE(guard.try_lock());
  guard.unlock();
  EXPECT_TRUE(other.try_lock());
  other.unlock();
}

}  // namespace
}  // namespace sennit
