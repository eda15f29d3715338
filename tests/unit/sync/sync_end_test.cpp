// The end of a runtime while its fibers wait, of both kinds: they leave, and the objects are as if they had
// not come.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

template <class Kind>
class EndOfWaits : public testing::Test {
protected:
  // A fiber that waits until the runtime ends.
  template <class Wait>
  void waits(Wait wait) {
    start<Kind>([this, wait]() mutable {
      ++alive;
      struct at_end {
        std::atomic<int>& count;
        ~at_end() { --count; }
      } note{alive};
      wait();
      ADD_FAILURE() << "it was not told";
    }).detach();
  }
  // Runs it, and ends the runtime.
  template <class Function>
  void run(Function function) {
    kind->run(function);
    EXPECT_NE(alive, 0);
    kind.reset();
    EXPECT_EQ(alive, 0);
  }

  std::atomic<int> alive{0};
  std::optional<Kind> kind{std::in_place};
};

KIND_TEST(EndOfWaits, Semaphores) {
  typename Kind::counting_semaphore permits(0);
  this->run([&] {
    this->waits([&] { permits.acquire(); });
    this->waits([&] { permits.try_acquire_for(1h); });
    this->waits([&] { permits.acquire(); });
  });
  permits.release(2);
  EXPECT_TRUE(permits.try_acquire());
  EXPECT_TRUE(permits.try_acquire());
  EXPECT_FALSE(permits.try_acquire());
}

KIND_TEST(EndOfWaits, EventsAndWaitGroups) {
  typename Kind::event happened;
  typename Kind::wait_group pending(1);
  this->run([&] {
    this->waits([&] { happened.wait(); });
    this->waits([&] { happened.wait_for(1h); });
    this->waits([&] { pending.wait(); });
    this->waits([&] { pending.wait_for(1h); });
  });
  EXPECT_FALSE(happened.is_set());
  happened.set();
  happened.wait();
  EXPECT_EQ(pending.pending(), 1u);
  pending.done();
  pending.wait();
}

KIND_TEST(EndOfWaits, WhoLeavesABarrierHasArrived) {
  typename Kind::barrier together(3);
  this->run([&] {
    this->waits([&] { together.arrive_and_wait(); });
    this->waits([&] { together.arrive_and_wait(); });
  });
  together.arrive_and_wait();
}

// One is in the function, another waits for it.
KIND_TEST(EndOfWaits, WhatWasBegunIsDoneByTheNext) {
  typename Kind::once_flag flag;
  typename Kind::event never_set;
  this->run([&] {
    this->waits([&] { call_once(flag, [&] { never_set.wait(); }); });
    this->waits([&] {
      call_once(flag, [&] { never_set.wait(); });
      never_set.wait();
    });
  });
  int done = 0;
  call_once(flag, [&] { ++done; });
  call_once(flag, [&] { ++done; });
  EXPECT_EQ(done, 1);
}

// Those that wait leave without the lock; those that have it let it go.
KIND_TEST(EndOfWaits, SharedMutexes) {
  typename Kind::shared_mutex held;
  typename Kind::shared_mutex left;
  typename Kind::event never_set;
  held.lock_shared();
  this->run([&] {
    this->waits([&] { held.lock(); });
    this->waits([&] { held.lock_shared(); });
    this->waits([&] { static_cast<void>(held.try_lock_for(1h)); });
    this->waits([&] { static_cast<void>(held.try_lock_shared_for(1h)); });
    this->waits([&] {
      const std::shared_lock reading(left);
      never_set.wait();
    });
    this->waits([&] {
      const std::shared_lock reading(left);
      never_set.wait();
    });
    this->waits([&] {
      const std::lock_guard writing(left);
      never_set.wait();
    });
    this->waits([&] {
      const std::shared_lock reading(left);
      never_set.wait();
    });
  });
  EXPECT_TRUE(held.try_lock_shared());
  held.unlock_shared();
  held.unlock_shared();
  EXPECT_TRUE(held.try_lock());
  held.unlock();
  EXPECT_TRUE(left.try_lock());
  left.unlock();
}

KIND_TEST(EndOfWaits, RecursiveMutexes) {
  typename Kind::recursive_mutex held;
  typename Kind::recursive_mutex left;
  typename Kind::event never_set;
  held.lock();  // outside of fibers: its owner is the thread
  this->run([&] {
    this->waits([&] { held.lock(); });
    this->waits([&] { static_cast<void>(held.try_lock_for(1h)); });
    this->waits([&] {
      const std::lock_guard once(left);
      const std::lock_guard twice(left);
      never_set.wait();
    });
    this->waits([&] {
      const std::lock_guard behind(left);
      never_set.wait();
    });
  });
  held.unlock();
  for (auto* each : {&held, &left}) {
    EXPECT_TRUE(each->try_lock());
    each->unlock();
  }
}

// A fiber that leaves breaks the promises it has made.
KIND_TEST(EndOfWaits, Futures) {
  typename Kind::template promise<int> kept;
  typename Kind::template promise<int> kept_too;
  typename Kind::template promise<int> broken;
  typename Kind::event never_set;
  auto result = kept.get_future();
  auto result_too = kept_too.get_future();
  auto never_given = broken.get_future();
  this->run([&] {
    this->waits([&] { result.get(); });
    this->waits([&] { static_cast<void>(result_too.wait_for(1h)); });
    this->waits([&] {
      const auto mine = std::move(broken);
      never_set.wait();
    });
  });
  kept.set_value(1);
  kept_too.set_value(2);
  EXPECT_EQ(result.get(), 1);
  EXPECT_EQ(result_too.get(), 2);
  EXPECT_TRUE(never_given.ready());
  EXPECT_THROW(never_given.get(), std::future_error);
}

// A fiber that got something when the runtime ended is stopped at its next wait.
KIND_TEST(EndOfWaits, WhoWasWokenIsToldAtItsNextWait) {
  typename Kind::counting_semaphore permits(0);
  bool handed = false;
  this->run([&] {
    this->waits([&] {
      permits.acquire();
      handed = true;
      permits.acquire();
    });
    permits.release();
  });
  EXPECT_TRUE(handed);
  EXPECT_FALSE(permits.try_acquire());
  permits.release();
  EXPECT_TRUE(permits.try_acquire());
}

}  // namespace
}  // namespace sennit
