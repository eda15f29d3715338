// wait_options: which waiter wakes, how, and which fiber gets a mutex, of both kinds of runtime.
#include "sennit/wait_options.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <vector>

#include "sennit/become.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

template <class Kind>
class WaitOptions : public kind_test<Kind> {
protected:
  // No fiber except the caller runs before the caller yields.
  static constexpr bool alone() { return Kind::param.workers <= 1; }

  // The order in which three waiters that have come one after the other take the lock.
  template <class Lock>
  static std::vector<int> order_of(Lock& lock) {
    std::vector<int> order;
    std::vector<typename Kind::fiber> all;
    lock.lock();
    for (int i = 1; i <= 3; ++i)
      all.push_back(start<Kind>([&, i] {
        const std::lock_guard hold(lock);
        order.push_back(i);
      }));
    lock.unlock();
    for (auto& each : all)
      each.join();
    return order;
  }
};

const std::vector<int> as_they_came{1, 2, 3}, newest_first{3, 2, 1};

KIND_TEST(WaitOptions, AMutexIsGivenToWhoCameFirstOrLast) {
  this->run([] {
    typename Kind::mutex fifo({.fairness = fairness::fair});
    EXPECT_EQ(WaitOptions<Kind>::order_of(fifo), as_they_came);
    typename Kind::mutex recent({.order = wait_order::recent, .fairness = fairness::fair});
    EXPECT_EQ(WaitOptions<Kind>::order_of(recent), newest_first);
    typename Kind::recursive_mutex again({.order = wait_order::recent, .fairness = fairness::fair});
    EXPECT_EQ(WaitOptions<Kind>::order_of(again), newest_first);
  });
}

KIND_TEST(WaitOptions, AConditionVariableWakesWhoCameFirstOrLast) {
  this->run([] {
    for (const wait_order how : {wait_order::fifo, wait_order::recent}) {
      typename Kind::mutex mutex;
      typename Kind::condition_variable changed({.order = how});
      std::vector<int> order;
      std::vector<typename Kind::fiber> all;
      for (int i = 1; i <= 3; ++i)
        all.push_back(start<Kind>([&, i] {
          std::unique_lock lock(mutex);
          changed.wait(lock);
          order.push_back(i);
        }));
      for (std::size_t woken = 1; woken <= all.size(); ++woken) {
        changed.notify_one();
        for (std::unique_lock lock(mutex); order.size() != woken; lock.lock()) {
          lock.unlock();
          Kind::yield();
        }
      }
      EXPECT_EQ(order, how == wait_order::fifo ? as_they_came : newest_first);
      for (auto& each : all)
        each.join();
    }
  });
}

// Enter: the woken fiber has run when the waker resumes. (With more workers the waker may resume elsewhere,
// meanwhile.)
KIND_TEST(WaitOptions, AWakerGivesWayOrGoesOn) {
  if (!this->alone())
    return;
  this->kind.rt.run([] {
    for (const wake_policy how : {wake_policy::queue, wake_policy::enter})
      for (const fairness to : {fairness::barging, fairness::fair}) {
        typename Kind::mutex mutex({.wake = how, .fairness = to});
        typename Kind::condition_variable changed({.wake = how});
        int waits = 0, woken = 0;
        mutex.lock();
        auto locks = Kind::spawn([&] {
          ++waits;
          const std::lock_guard hold(mutex);
          ++woken;
        });
        auto listens = Kind::spawn([&] {
          typename Kind::mutex other;
          std::unique_lock lock(other);
          ++waits;
          changed.wait(lock);
          ++woken;
        });
        while (waits != 2)
          Kind::yield();
        mutex.unlock();
        EXPECT_EQ(woken, how == wake_policy::enter ? 1 : 0);
        locks.join();
        changed.notify_one();
        EXPECT_EQ(woken, how == wake_policy::enter ? 2 : 1);
        listens.join();
      }
  });
}

KIND_TEST(WaitOptions, AFairMutexIsHandedOverAndABargingOneIsFree) {
  this->run([] {
    for (const fairness to : {fairness::barging, fairness::fair}) {
      typename Kind::mutex mutex({.fairness = to});
      typename Kind::event let_go;
      bool had_it = false;
      mutex.lock();
      auto waits = start<Kind>([&] {
        const std::lock_guard hold(mutex);
        had_it = true;
        let_go.wait();
      });
      auto stackless = Kind::spawn([&] { return become(mutex.locking(), [&] { mutex.unlock(); }); });
      mutex.unlock();
      if (to == fairness::fair) {
        EXPECT_FALSE(mutex.try_lock());
      } else if (WaitOptions<Kind>::alone()) {
        EXPECT_TRUE(mutex.try_lock());
        EXPECT_FALSE(had_it);
        for (int i = 0; i < 4; ++i)
          Kind::yield();  // the woken fiber finds it locked, and waits again
        EXPECT_FALSE(had_it);
        mutex.unlock();
      }
      let_go.set();
      waits.join();
      stackless.join();
      EXPECT_TRUE(had_it);
      EXPECT_TRUE(mutex.try_lock());
      mutex.unlock();
    }
  });
}

// No waiter is forgotten because of one that came first, whatever their kinds of wait.
KIND_TEST(WaitOptions, ABargingMutexKeepsOthersOutAndForgetsNobody) {
  for (const wake_policy how : {wake_policy::queue, wake_policy::enter}) {
    typename Kind::mutex mutex({.order = wait_order::recent, .wake = how});
    int inside = 0, passed = 0;
    this->run_all(8, [&](int me) {
      for (int i = 0; i < 50; ++i) {
        if (me % 2 == 0)
          mutex.lock();
        else if (!mutex.try_lock_for(std::chrono::microseconds((me * 7 + i) % 23)))
          continue;
        EXPECT_EQ(inside++, 0);
        if (i % 3 == 0)
          Kind::yield();
        --inside;
        passed += me % 2 == 0;
        mutex.unlock();
        if (i % 5 == 0)
          Kind::yield();
      }
    });
    EXPECT_EQ(passed, 4 * 50);
  }
}

}  // namespace
}  // namespace sennit
