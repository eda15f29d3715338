// Shared mutexes, of both kinds.
#include "sennit/shared_mutex.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

template <class Kind>
class SharedMutex : public kind_test<Kind> {};

// Two numbers that only a writer may see differ.
template <class Kind>
struct guarded {
  typename Kind::shared_mutex guard;
  int first = 0;
  int second = 0;
  std::atomic<int> readers{0};
  std::atomic<int> writers{0};

  void write(bool pause) {
    EXPECT_EQ(++writers, 1);
    EXPECT_EQ(readers, 0);
    ++first;
    if (pause)
      Kind::yield();
    ++second;
    --writers;
  }
  void read(bool pause) {
    ++readers;
    EXPECT_EQ(writers, 0);
    const int seen = first;
    if (pause)
      Kind::yield();
    EXPECT_EQ(seen, second);
    --readers;
  }
};

KIND_TEST(SharedMutex, WritersAreAloneAndReadersSeeWhole) {
  guarded<Kind> data;
  std::atomic<int> writes{0};
  this->run_all(
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

KIND_TEST(SharedMutex, ReadersAreTogether) {
  typename Kind::shared_mutex guard;
  std::atomic<int> inside{0};
  this->run_all(
      10,
      [&](int) {
        const std::shared_lock reading(guard);
        ++inside;
        while (inside < 10 + Kind::threads(2))
          Kind::sleep_for(100us);
        EXPECT_FALSE(guard.try_lock());
        EXPECT_FALSE(guard.try_lock_for(10us));
      },
      2);
  EXPECT_TRUE(guard.try_lock());
  guard.unlock();
}

// Fibers of one worker, which note the order in which they lock the mutex: 'w' to write, 'r' to read. With
// 'p' a fiber reads, and neither of two unlocks before both have locked it.
template <class Kind>
struct in_order {
  typename Kind::shared_mutex guard;
  std::string order;
  int together = 0;

  auto comes(char what) {
    return start<Kind>([this, what] {
      if (what == 'w') {
        const std::lock_guard writing(guard);
        order += what;
        return;
      }
      const std::shared_lock reading(guard);
      order += what;
      together += what == 'p' ? 1 : 0;
      while (what == 'p' && together < 2)
        Kind::yield();
    });
  }
};

KIND_TEST(SharedMutex, WhoWaitsIsServedInOrderAndReadersNextToEachOtherTogether) {
  in_order<Kind> line;
  this->run([&] {
    std::vector<typename Kind::fiber> all;
    line.guard.lock_shared();
    all.push_back(line.comes('r'));
    all.push_back(line.comes('w'));
    EXPECT_FALSE(line.guard.try_lock_shared()) << "a writer waits";
    EXPECT_FALSE(line.guard.try_lock_shared_for(10us));
    for (char each : {'p', 'p', 'w', 'w', 'r'})
      all.push_back(line.comes(each));
    EXPECT_EQ(line.order, "r");
    line.guard.unlock_shared();
    this->join(all);
  });
  EXPECT_EQ(line.order, "rwppwwr");
}

// Readers that overlap all the time do not keep a writer out.
KIND_TEST(SharedMutex, WritersDoNotStarve) {
  typename Kind::shared_mutex guard;
  std::atomic<bool> written{false};
  this->run_all(
      6,
      [&](int me) {
        if (me == 5) {
          const std::lock_guard writing(guard);
          written = true;
          return;
        }
        std::shared_lock mine(guard);
        while (!written) {
          Kind::yield();
          mine.unlock();
          mine.lock();
        }
      },
      2);
  EXPECT_TRUE(written);
}

KIND_TEST(SharedMutex, LocksGiveUpAtTheirDeadlines) {
  typename Kind::shared_mutex guard;
  this->run([&] {
    std::unique_lock writing(guard);
    EXPECT_FALSE(guard.try_lock_for(1ms));
    EXPECT_FALSE(guard.try_lock_shared_for(1ms));
    EXPECT_FALSE(guard.try_lock_shared_until(steady::time_point::min()));
    auto reads = start<Kind>([&] { EXPECT_TRUE(std::shared_lock(guard, 10min)); });
    auto writes = start<Kind>([&] { EXPECT_TRUE(std::unique_lock(guard, 10min)); });
    writing.unlock();
    reads.join();
    writes.join();
    EXPECT_TRUE(guard.try_lock());
    guard.unlock();
  });
}

TEST(SharedMutexOfThreads, LocksGiveUpAtTheirDeadlines) {
  shared_mutex guard;
  guard.lock_shared();
  EXPECT_TRUE(guard.try_lock_shared_for(1ms));
  EXPECT_FALSE(guard.try_lock_for(1ms));
  guard.unlock_shared();
  guard.unlock_shared();
}

// A reader that waits behind a writer which gives up must not wait for the readers that hold it: they may
// wait for it.
KIND_TEST(SharedMutex, AWriterThatGivesUpLetsReadersIn) {
  for (int round = 0; round < 10; ++round)
    this->run([&] {
      typename Kind::shared_mutex guard;
      typename Kind::event in;
      const std::shared_lock mine(guard);
      std::atomic<bool> gone{false};
      auto writer = Kind::spawn([&] {
        EXPECT_FALSE(guard.try_lock_for(3ms));
        gone = true;
      });
      while (!gone && guard.try_lock_shared()) {
        guard.unlock_shared();
        Kind::sleep_for(100us);
      }
      const auto reads = [&] {
        const std::shared_lock theirs(guard);
        in.set();
      };
      std::thread thread;
      if (Kind::threads(1) != 0)
        thread = std::thread(reads);
      auto other = Kind::spawn(reads);
      in.wait();
      other.join();
      writer.join();
      if (thread.joinable())
        thread.join();
    });
}

KIND_TEST(SharedMutex, DeadlinesRaceWithUnlocks) {
  guarded<Kind> data;
  std::atomic<int> writes{0};
  this->run_all(
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

// The last owner destroys the mutex at once.
KIND_TEST(SharedMutex, WhoHasItLastMayDestroyIt) {
  this->run([] {
    for (int i = 0; i < 100; ++i) {
      auto guard = std::make_unique<typename Kind::shared_mutex>();
      auto* const shared = guard.get();
      shared->lock();
      auto last = start<Kind>([shared, own = std::shared_ptr(std::move(guard)), i]() mutable {
        if (i % 2 == 0) {
          shared->lock();
          shared->unlock();
        } else {
          shared->lock_shared();
          shared->unlock_shared();
        }
        own.reset();
      });
      shared->unlock();
      last.join();
    }
  });
}

#if !defined(NDEBUG) && !defined(SENNIT_SANITIZED)
template <class Mutex>
void expect_wrong_unlocks_assert() {
  Mutex guard;
  EXPECT_DEATH(guard.unlock(), "not locked so");
  EXPECT_DEATH(guard.unlock_shared(), "not locked shared");
  guard.lock_shared();
  EXPECT_DEATH(guard.unlock(), "not locked so");
  guard.unlock_shared();
}
TEST(SharedMutexDeathTest, ToUnlockWhatIsNotLockedSoIsAMisuse) {
  expect_wrong_unlocks_assert<shared_mutex>();
  expect_wrong_unlocks_assert<local::shared_mutex>();
}
#endif

}  // namespace
}  // namespace sennit
