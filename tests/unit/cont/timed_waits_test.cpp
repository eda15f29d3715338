// Waits without a stack until a deadline.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sennit/become.hpp"
#include "support/kinds.hpp"
#include "wait_kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::continuation;
using sennit::expect_each;
using sennit::generous;
using sennit::past;
using sennit::running;
using sennit::soon;
using sennit::steady;
using sennit::until_stackless;
using sennit::wait_kinds;

template <class Kind>
class BecomeTimedWaits : public sennit::kind_test<Kind> {};

KIND_TEST(BecomeTimedWaits, TheDeadlinePasses) {
  this->run([] {
    wait_kinds<Kind> of;
    of.lock_all();
    std::atomic<int> results[of.count] = {};
    const steady::time_point deadline = soon();
    running<Kind> waiting;
    of.each(results, deadline, std::ref(waiting));
    waiting.join();
    EXPECT_GE(steady::now(), deadline);
    expect_each(results, -1);
    of.nobody_waits();
  });
}

template <class Kind>
void expect_woken_before(steady::time_point deadline) {
  wait_kinds<Kind> of;
  of.lock_all();
  std::atomic<int> results[of.count] = {};
  running<Kind> waiting;
  of.each(results, deadline, std::ref(waiting));
  until_stackless<Kind>(of.count);
  expect_each(results, 0);
  of.bring_all();
  waiting.join();
  expect_each(results, 1);
  of.unlock_all();
}

KIND_TEST(BecomeTimedWaits, WokenBeforeTheDeadline) {
  this->run([] { expect_woken_before<Kind>(generous()); });
}

// With a deadline that is `never`, too.
KIND_TEST(BecomeTimedWaits, ADeadlineThatNeverComes) {
  this->run([] { expect_woken_before<Kind>(steady::time_point::max()); });
}

// As the waits with a stack: what is there is had, late as it may be.
KIND_TEST(BecomeTimedWaits, WhatIsThereIsHadAfterTheDeadline) {
  this->run([] {
    wait_kinds<Kind> of;
    of.event.set();
    of.semaphore.release();
    of.group.done();
    of.promise.set_value(9);
    std::vector<typename Kind::fiber> peers;
    peers.push_back(sennit::start<Kind>([&] { of.numbers.send(7); }));
    peers.push_back(sennit::start<Kind>([&] { of.texts.send("a text too long to lie in the object"); }));
    peers.push_back(sennit::start<Kind>([&] { of.taken.receive(); }));
    std::atomic<int> results[of.count] = {};
    running<Kind> waiting;
    of.each(results, past(), std::ref(waiting));
    waiting.join();
    expect_each(results, 1);
    for (auto& each : peers)
      each.join();
    of.unlock_all();
  });
}

// Its runtime ends while it waits: it just ends, and is in no list any more.
KIND_TEST(BecomeTimedWaits, TheRuntimesEnd) {
  wait_kinds<Kind> of;
  std::atomic<int> results[of.count] = {};
  const auto alive = std::make_shared<int>(0);
  Kind().run([&] {
    of.lock_all();
    of.each(results, generous(), [](auto function) { Kind::spawn(std::move(function)).detach(); });
    Kind::spawn([&] {
      return become(
          sennit::this_fiber::parking_until(generous()), [&](std::shared_ptr<int>, bool) { ++results[0]; },
          alive);
    }).detach();
    Kind::spawn([&] {
      return become(
          of.event.waiting_until(generous()), [&](std::shared_ptr<int>, bool) { ++results[0]; }, alive);
    }).detach();
    until_stackless<Kind>(of.count + 2);
  });
  expect_each(results, 0);
  EXPECT_EQ(alive.use_count(), 1);
  of.nobody_waits();
}

KIND_TEST(BecomeTimedWaits, Parks) {
  this->run([] {
    std::atomic<int> result = 0;
    const auto on = [&](bool unparked) { result = unparked ? 1 : -1; };
    const auto parks = [&](steady::time_point deadline) {
      return Kind::spawn([&, deadline] { return become(sennit::this_fiber::parking_until(deadline), on); });
    };
    auto late = parks(soon());
    late.join();
    EXPECT_EQ(result, -1);
    auto woken = parks(generous());
    until_stackless<Kind>(1);
    woken.unpark();
    woken.join();
    EXPECT_EQ(result, 1);
    result = 0;
    std::atomic<bool> waits_anew = false;
    auto again = Kind::spawn([&] {  // the permit is used up
      return become(sennit::this_fiber::parking_until(soon()), [&](bool first) {
        EXPECT_FALSE(first);
        waits_anew = true;
        return become(sennit::this_fiber::parking_until(generous()), on);
      });
    });
    while (!waits_anew)
      Kind::sleep_for(1ms);
    again.unpark();
    again.join();
    EXPECT_EQ(result, 1);
  });
}

// A writer that waits keeps readers out, until it gives up.
KIND_TEST(BecomeTimedWaits, AWriterThatGivesUpLetsReadersIn) {
  this->run([] {
    typename Kind::shared_mutex mutex;
    mutex.lock_shared();
    std::atomic<int> result = 0;
    auto writes = Kind::spawn([&] {
      return become(mutex.locking_until(steady::now() + 20ms),
                    [&](bool locked) { result = locked ? 1 : -1; });
    });
    while (sennit::stackless() == 0 && result == 0)
      Kind::yield();
    auto reads = Kind::spawn([&] {
      return become(mutex.locking_shared_until(generous()), [&](bool locked) {
        EXPECT_TRUE(locked);
        mutex.unlock_shared();
      });
    });
    writes.join();
    reads.join();
    EXPECT_EQ(result, -1);
    mutex.unlock_shared();
  });
}

// The handle comes back: empty, if the fiber was joined.
KIND_TEST(BecomeTimedWaits, Joins) {
  this->run([] {
    typename Kind::event go;
    std::atomic<int> turns = 0;
    struct joins {
      std::atomic<int>* turns;
      static continuation on(joins me, typename Kind::fiber child) {
        EXPECT_TRUE(child.joinable() || *me.turns != 0);
        ++*me.turns;
        if (!child.joinable())
          return {};
        return become(sennit::joining_until(std::move(child), *me.turns == 1 ? soon() : generous()), on, me);
      }
    };
    auto child = Kind::spawn([&] { go.wait(); });
    auto waits = Kind::spawn([&]() mutable {
      return become(sennit::joining_until(std::move(child), soon()), joins::on, joins{&turns});
    });
    while (turns < 2)
      Kind::sleep_for(100us);
    sennit::until_stackless<Kind>(1);
    go.set();
    waits.join();
    EXPECT_EQ(turns, 3);
    // One that has ended is joined, late as it may be, and what it threw is thrown.
    auto throws = Kind::spawn([] { throw std::runtime_error("thrown"); });
    Kind::sleep_for(1ms);
    auto ends = Kind::spawn([] {});
    auto gets_it = Kind::spawn([&]() mutable {
      return become(sennit::joining_until(std::move(throws), generous()),
                    [](typename Kind::fiber) { ADD_FAILURE() << "it went on"; });
    });
    EXPECT_THROW(gets_it.join(), std::runtime_error);
    std::atomic<bool> joined = false;
    for (int tries = 0; !joined && tries < 10'000; ++tries)  // until it has ended
      Kind::spawn([&]() mutable {
        return become(sennit::joining_until(std::move(ends), past()), [&](typename Kind::fiber ended) {
          joined = !ended.joinable();
          ends = std::move(ended);
        });
      }).join();
    EXPECT_TRUE(joined);
  });
}

// Whether it was notified or not, the lock is held.
KIND_TEST(BecomeTimedWaits, ConditionVariables) {
  this->run([] {
    typename Kind::mutex mutex;
    typename Kind::condition_variable changed;
    std::atomic<int> result = 0;
    const auto waits = [&](steady::time_point deadline) {
      return Kind::spawn([&, deadline] {
        return become(changed.waiting_until(std::unique_lock(mutex), deadline), [&](auto ended) {
          auto& [lock, status] = ended;
          EXPECT_TRUE(lock.owns_lock());
          EXPECT_EQ(lock.mutex(), &mutex);
          EXPECT_FALSE(mutex.try_lock());
          result = status == std::cv_status::no_timeout ? 1 : -1;
        });
      });
    };
    auto late = waits(soon());
    late.join();
    EXPECT_EQ(result, -1);
    for (bool held_meanwhile = false; !held_meanwhile;) {
      result = 0;
      auto has_to_wait = waits(steady::now() + 5ms);
      {
        const std::lock_guard hold(mutex);
        held_meanwhile = result == 0;  // else this round says nothing
        Kind::sleep_for(10ms);
        EXPECT_TRUE(!held_meanwhile || result == 0);  // not before it has the lock
      }
      has_to_wait.join();
      EXPECT_EQ(result, -1);
    }
    auto woken = waits(generous());
    sennit::until_stackless<Kind>(1);
    {
      const std::lock_guard hold(mutex);  // it has let it go
      changed.notify_one();
    }
    woken.join();
    EXPECT_EQ(result, 1);
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

KIND_TEST(BecomeTimedWaits, TheRuntimesEndWithJoinsAndConditionVariables) {
  typename Kind::mutex mutex;
  typename Kind::condition_variable changed;
  typename Kind::event never_set;
  const auto alive = std::make_shared<int>(0);
  Kind().run([&] {
    auto child = Kind::spawn([&] { return become(never_set.waiting(), [](std::shared_ptr<int>) {}, alive); });
    Kind::spawn([&, child = std::move(child)]() mutable {
      return become(
          sennit::joining_until(std::move(child), generous()),
          [](std::shared_ptr<int>, typename Kind::fiber) { ADD_FAILURE() << "it went on"; }, alive);
    }).detach();
    Kind::spawn([&] {
      return become(
          changed.waiting_until(std::unique_lock(mutex), generous()),
          [](std::shared_ptr<int>, auto) { ADD_FAILURE() << "it went on"; }, alive);
    }).detach();
    sennit::until_stackless<Kind>(3);
  });
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
  changed.notify_all();  // there is no waiter
}

// A mutex that is handed over is not lost between the one that gives up and the next.
TEST(BecomeTimedWaitsForAFairMutex, IsNotLost) {
  sennit::runtime runtime({.workers = 4});
  runtime.run([] {
    struct turn {
      sennit::mutex* mutex;
      long* inside;
      std::atomic<long>* late;
      int left;
      static continuation on(turn me, bool locked) {
        if (locked) {
          EXPECT_EQ(++*me.inside, 1);
          sennit::this_fiber::yield();
          --*me.inside;
          me.mutex->unlock();
        } else {
          ++*me.late;
        }
        if (me.left == 0)
          return {};
        --me.left;
        const auto deadline = steady::now() + std::chrono::microseconds(me.left % 5);
        return become(me.mutex->locking_until(deadline), on, me);
      }
    };
    sennit::mutex mutex({.fairness = sennit::fairness::fair});
    long inside = 0;
    std::atomic<long> late = 0;
    int begun = 0;  // a fiber counts as late when it begins; perhaps each has its own worker, one by one
    for (int round = 0; late == begun && round < 1000; ++round) {
      std::vector<sennit::fiber> all;
      for (int i = 0; i < 8; ++i, ++begun)
        all.push_back(sennit::spawn([&] { return turn::on({&mutex, &inside, &late, 1000}, false); }));
      for (auto& each : all)
        each.join();
    }
    EXPECT_GT(late, begun);  // otherwise no fiber was late
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

}  // namespace
