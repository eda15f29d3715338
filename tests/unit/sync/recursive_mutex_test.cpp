// Recursive mutexes, of both kinds.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

template <class Kind>
class RecursiveMutex : public kind_test<Kind> {};

KIND_TEST(RecursiveMutex, OnlyItsOwnerLocksItAgain) {
  typename Kind::recursive_mutex guard;
  int counter = 0;
  this->run_all(
      20,
      [&](int me) {
        for (int i = 0; i < 100; ++i) {
          std::lock_guard hold(guard);
          const int before = counter;
          if ((i + me) % 8 == 0)
            Kind::yield();  // and resumes, perhaps, on another worker
          const std::scoped_lock again(guard);
          EXPECT_TRUE(guard.try_lock());
          EXPECT_TRUE(guard.try_lock_for(1ms));
          guard.unlock();
          guard.unlock();
          counter = before + 1;
        }
      },
      2);
  EXPECT_EQ(counter, (20 + Kind::threads(2)) * 100);
}

// Fibers of one worker, and the OS thread that made them, are not one owner.
KIND_TEST(RecursiveMutex, AnotherFiberIsAnotherOwner) {
  typename Kind::recursive_mutex guard;
  this->run([&] {
    guard.lock();
    guard.lock();
    Kind::spawn_here([&] { EXPECT_FALSE(guard.try_lock()); }).join();
    Kind::spawn([&] { EXPECT_FALSE(guard.try_lock_for(1ms)); }).join();
    guard.unlock();
    Kind::spawn([&] { EXPECT_FALSE(guard.try_lock()) << "locked once more"; }).join();
    guard.unlock();
    Kind::spawn([&] {
      EXPECT_TRUE(guard.try_lock_until(steady::now() + 10min));
      guard.unlock();
    }).join();
  });
  guard.lock();
  guard.lock();
  this->run([&] { EXPECT_FALSE(guard.try_lock_until(steady::time_point::min())); });
  guard.unlock();
  guard.unlock();
  EXPECT_TRUE(guard.try_lock());
  guard.unlock();
}

KIND_TEST(RecursiveMutex, DeadlinesRaceWithUnlocks) {
  typename Kind::recursive_mutex guard;
  int inside = 0;
  this->run_all(
      8,
      [&](int me) {
        for (int i = 0; i < 200; ++i)
          if (guard.try_lock_for(std::chrono::microseconds((me * 7 + i) % 23))) {
            const std::unique_lock again(guard);
            EXPECT_EQ(++inside, 1);
            if (i % 8 == 0)
              Kind::yield();
            --inside;
            guard.unlock();
          }
      },
      1);
  EXPECT_TRUE(guard.try_lock());
  guard.unlock();
}

TEST(SharedRecursiveMutex, MayBeFair) {
  recursive_mutex guard({.fairness = fairness::fair});
  int counter = 0;
  runtime rt({.workers = 2});
  rt.run([&] {
    std::vector<fiber> all;
    for (int i = 0; i < 8; ++i)
      all.push_back(spawn([&] {
        for (int round = 0; round < 50; ++round) {
          const std::lock_guard hold(guard);
          const std::lock_guard again(guard);
          ++counter;
          this_fiber::yield();
        }
      }));
    for (fiber& each : all)
      each.join();
  });
  EXPECT_EQ(counter, 8 * 50);
}

TEST(SharedRecursiveMutex, AnOSThreadIsAnOwnerOfItsOwn) {
  recursive_mutex guard;
  runtime().run([&] {
    const std::lock_guard hold(guard);
    EXPECT_FALSE(std::async(std::launch::async, [&] { return guard.try_lock(); }).get());
  });
}

TEST(SharedRecursiveMutex, FibersOfALocalRuntimeAreOwnersToo) {
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

#if !defined(NDEBUG) && !defined(SENNIT_SANITIZED)
template <class Mutex>
void expect_owner_unlocks() {
  Mutex guard;
  EXPECT_DEATH(guard.unlock(), "owner");
  guard.lock();
  EXPECT_DEATH(std::thread([&] { guard.unlock(); }).join(), "owner");
  guard.unlock();
}
TEST(RecursiveMutexDeathTest, ToUnlockWhatAnotherHasLockedIsAMisuse) {
  expect_owner_unlocks<recursive_mutex>();
  expect_owner_unlocks<local::recursive_mutex>();
}
#endif

}  // namespace
}  // namespace sennit
