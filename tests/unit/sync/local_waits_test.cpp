// What only local objects are asked: use outside of fibers, several runtimes one after another. And misuse.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

TEST(LocalWaits, OutsideOfFibersObjectsAreUsedWhereNobodyMustWait) {
  local::counting_semaphore permits(1);
  local::event happened;
  local::wait_group pending(1);
  local::once_flag flag;
  local::shared_mutex shared;
  local::recursive_mutex recursive;
  local::barrier alone(1);
  const auto use = [&] {
    permits.acquire();
    EXPECT_FALSE(permits.try_acquire());
    permits.release();
    happened.set();
    happened.wait();
    happened.reset();
    pending.done();
    pending.wait();
    pending.add();
    call_once(flag, [] {});
    {
      const std::lock_guard writing(shared);
      const std::scoped_lock mine(recursive, recursive);
    }
    const std::shared_lock reading(shared);
    const std::shared_lock more(shared);
    alone.arrive_and_wait();
  };
  use();
  local::runtime rt;
  rt.run([&] {
    EXPECT_FALSE(happened.wait_for(1ms));
    shared.lock_shared();
    EXPECT_FALSE(shared.try_lock_for(1ms));
    shared.unlock_shared();
    permits.acquire();
    EXPECT_FALSE(permits.try_acquire_for(1ms));
    permits.release();
    use();
  });
  use();
  local::runtime().run(use);
}

TEST(LocalWaits, KeepErrno) {
  local::runtime().run([] {
    local::event happened;
    auto sets = local::spawn([&] {
      happened.set();
      errno = EINTR;
    });
    errno = ENOENT;
    happened.wait();
    EXPECT_EQ(errno, ENOENT);
    sets.join();
  });
}

// Two runtimes on one thread, in turn.
TEST(LocalWaits, AnObjectServesOneRuntimeAfterAnother) {
  local::counting_semaphore permits(0);
  for (int round = 0; round < 2; ++round) {
    local::runtime rt;
    int taken = 0;
    rt.run([&] {
      for (int i = 0; i < 3; ++i)
        start<local_kind>([&] {
          permits.acquire();
          ++taken;
        }).detach();
      permits.release(2);
      local::this_fiber::sleep_for(1ms);
    });
    EXPECT_EQ(taken, 2);
  }
  EXPECT_FALSE(permits.try_acquire());
}

#if !defined(SENNIT_SANITIZED)
TEST(LocalWaitsDeathTest, ToWaitOutsideOfAFiberEndsTheProgram) {
  EXPECT_DEATH(local::event().wait(), "event: there is no fiber here");
  EXPECT_DEATH(local::counting_semaphore(0).acquire(), "semaphore: there is no fiber here");
  EXPECT_DEATH(local::wait_group(1).wait(), "wait group: there is no fiber here");
  EXPECT_DEATH(local::barrier(2).arrive_and_wait(), "barrier: there is no fiber here");
  EXPECT_DEATH(local::promise<void>().get_future().get(), "future: there is no fiber here");
  local::shared_mutex shared;
  shared.lock_shared();
  EXPECT_DEATH(shared.lock(), "shared mutex, to write: there is no fiber here");
  shared.unlock_shared();
  EXPECT_DEATH(local::channel<int>().receive(), "channel receive: there is no fiber here");
  local::mutex mutex;
  std::unique_lock lock(mutex);
  EXPECT_DEATH(local::condition_variable().wait(lock), "condition variable: there is no fiber here");
}
#endif

#if !defined(NDEBUG) && !defined(SENNIT_SANITIZED)
template <class Kind>
void expect_misuse_asserts() {
  using group = typename Kind::wait_group;
  using semaphore = typename Kind::counting_semaphore;
  using barrier_type = typename Kind::barrier;
  EXPECT_DEATH(group(1).done(2), "more is done");
  EXPECT_DEATH(semaphore(semaphore::max() + 1), "more permits than a semaphore can count");
  EXPECT_DEATH(semaphore(1).release(semaphore::max()), "more permits");
  EXPECT_DEATH(barrier_type(0), "for no fiber");
  EXPECT_DEATH(static_cast<void>(barrier_type(1).arrive(2)), "more arrive");
}
TEST(CountedDeathTest, MisuseAsserts) {
  expect_misuse_asserts<local_kind>();
  expect_misuse_asserts<parallel_kind>();
}
#endif

}  // namespace
}  // namespace sennit
