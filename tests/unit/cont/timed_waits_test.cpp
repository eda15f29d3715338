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
#include "things.hpp"

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
using sennit::things;
using sennit::until_stackless;

template <class Kind>
class BecomeTimedWaits : public sennit::kind_test<Kind> {};

KIND_TEST(BecomeTimedWaits, TheDeadlinePasses) {
  this->run([] {
    things<Kind> of;
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

KIND_TEST(BecomeTimedWaits, WokenBeforeTheDeadline) {
  this->run([] {
    things<Kind> of;
    of.lock_all();
    std::atomic<int> results[of.count] = {};
    running<Kind> waiting;
    of.each(results, generous(), std::ref(waiting));
    until_stackless<Kind>(of.count);
    expect_each(results, 0);
    of.bring_all();
    waiting.join();
    expect_each(results, 1);
    of.unlock_all();
  });
}

// With a deadline that is `never`, too.
KIND_TEST(BecomeTimedWaits, ADeadlineThatNeverComes) {
  this->run([] {
    things<Kind> of;
    of.lock_all();
    std::atomic<int> results[of.count] = {};
    running<Kind> waiting;
    of.each(results, steady::time_point::max(), std::ref(waiting));
    until_stackless<Kind>(of.count);
    of.bring_all();
    waiting.join();
    expect_each(results, 1);
    of.unlock_all();
  });
}

// As the waits with a stack: what is there is had, late as it may be.
KIND_TEST(BecomeTimedWaits, WhatIsThereIsHadAfterTheDeadline) {
  this->run([] {
    things<Kind> of;
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
  things<Kind> of;
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

// Deadlines and wakes that come at the same time: what one does not get, another does.
template <class Kind>
struct racing_deadlines {
  typename Kind::counting_semaphore permits{0};
  typename Kind::template channel<long> numbers;
  typename Kind::template channel<std::string> texts{2};
  typename Kind::mutex mutex;
  typename Kind::shared_mutex shared;
  std::atomic<long> acquired = 0;
  std::atomic<long> sum = 0;
  std::atomic<long> length = 0;
  long inside = 0;
  std::atomic<long> reading = 0;
  std::atomic<long> writing = 0;
  std::atomic<bool> enough = false;

  static steady::time_point close(int round) {
    return steady::now() + std::chrono::microseconds(round % 7 * 10);
  }

  struct turn {
    racing_deadlines* in;
    int round;
    static continuation acquires(turn me, bool had) {
      me.in->acquired += had;
      if (me.in->enough)
        return {};
      return become(me.in->permits.acquiring_until(close(++me.round)), acquires, me);
    }
    static continuation receives(turn me, std::optional<long> number) {
      me.in->sum += number.value_or(0);
      if (me.in->enough)
        return {};
      return become(me.in->numbers.receiving_until(close(++me.round)), receives, me);
    }
    static continuation reads(turn me, std::optional<std::string> text) {
      me.in->length += text ? static_cast<long>(text->size()) : 0;
      if (me.in->enough)
        return {};
      return become(me.in->texts.receiving_until(close(++me.round)), reads, me);
    }
    static continuation locks(turn me, bool locked) {
      if (locked) {
        EXPECT_EQ(++me.in->inside, 1);
        Kind::yield();
        --me.in->inside;
        me.in->mutex.unlock();
      }
      if (me.round > 500)
        return {};
      return become(me.in->mutex.locking_until(close(++me.round)), locks, me);
    }
    static continuation reads_or_writes(turn me, bool locked) {
      const bool writes = me.round % 4 == 0;
      if (locked && writes) {
        EXPECT_EQ(++me.in->writing, 1);
        EXPECT_EQ(me.in->reading, 0);
        Kind::yield();
        --me.in->writing;
        me.in->shared.unlock();
      } else if (locked) {
        ++me.in->reading;
        EXPECT_EQ(me.in->writing, 0);
        Kind::yield();
        --me.in->reading;
        me.in->shared.unlock_shared();
      }
      if (me.round > 500)
        return {};
      const steady::time_point deadline = close(++me.round);
      return me.round % 4 == 0 ? become(me.in->shared.locking_until(deadline), reads_or_writes, me)
                               : become(me.in->shared.locking_shared_until(deadline), reads_or_writes, me);
    }
  };
};

KIND_TEST(BecomeTimedWaits, DeadlinesRaceWithWakes) {
  this->run([] {
    racing_deadlines<Kind> race;
    using turn = typename racing_deadlines<Kind>::turn;
    running<Kind> waiting;
    for (int i = 0; i < 4; ++i) {
      waiting([&race, i] { return turn::acquires({&race, i}, false); });
      waiting([&race, i] { return turn::receives({&race, i}, {}); });
      waiting([&race, i] { return turn::reads({&race, i}, {}); });
      waiting([&race, i] { return turn::locks({&race, i}, false); });
      waiting([&race, i] { return turn::reads_or_writes({&race, i}, false); });
    }
    constexpr long count = 2000;
    long sent = 0;
    for (long i = 1; i <= count; ++i) {
      race.permits.release();
      if (race.numbers.send_until(i, racing_deadlines<Kind>::close(static_cast<int>(i))))
        sent += i;
      race.texts.send(std::string(40, 'x'));
      if (i % 50 == 0)
        Kind::sleep_for(20us);
      else if (i % 3 == 0)
        Kind::yield();
    }
    while (race.texts.size() != 0)
      Kind::yield();
    race.enough = true;
    waiting.join();
    while (race.permits.try_acquire())
      ++race.acquired;
    EXPECT_EQ(race.acquired, count);
    EXPECT_EQ(race.sum, sent);
    EXPECT_EQ(race.length, count * 40);
    EXPECT_TRUE(race.mutex.try_lock());
    race.mutex.unlock();
    EXPECT_TRUE(race.shared.try_lock());
    race.shared.unlock();
  });
}

// Senders that give up: a value is taken, or was not sent.
KIND_TEST(BecomeTimedWaits, DeadlinesRaceWithReceivers) {
  this->run([] {
    struct sending {
      typename Kind::template channel<std::string>* to;
      std::atomic<int>* sent;
      int left;
      static continuation on(sending me, bool taken) {
        *me.sent += taken;
        if (me.left == 0)
          return {};
        --me.left;
        return become(me.to->sending_until(std::string(40, 'x'), racing_deadlines<Kind>::close(me.left)), on,
                      me);
      }
    };
    typename Kind::template channel<std::string> texts;
    std::atomic<int> sent = 0;
    std::atomic<int> ended = 0;
    running<Kind> waiting;
    for (int i = 0; i < 4; ++i)
      waiting([&] { return sending::on({&texts, &sent, 500}, false); });
    int got = 0;
    auto receives = Kind::spawn([&] {
      for (int i = 0; ended == 0; ++i)
        if (const auto text = texts.receive_until(racing_deadlines<Kind>::close(i))) {
          EXPECT_EQ(*text, std::string(40, 'x'));
          ++got;
        }
    });
    waiting.join();
    ended = 1;
    receives.join();
    EXPECT_EQ(got, sent);
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
    Kind::sleep_for(1ms);
    auto gets_it = Kind::spawn([&]() mutable {
      return become(sennit::joining_until(std::move(throws), generous()),
                    [](typename Kind::fiber) { ADD_FAILURE() << "it went on"; });
    });
    EXPECT_THROW(gets_it.join(), std::runtime_error);
    std::atomic<bool> joined = false;
    Kind::spawn([&]() mutable {
      return become(sennit::joining_until(std::move(ends), past()),
                    [&](typename Kind::fiber ended) { joined = !ended.joinable(); });
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
  changed.notify_all();  // nobody is there
}

// Ends and deadlines that come at the same time: each fiber is joined once.
KIND_TEST(BecomeTimedWaits, DeadlinesRaceWithEnds) {
  this->run([] {
    struct joining {
      std::atomic<long>* joined;
      std::atomic<long>* late;
      int left;
      static continuation on(joining me, typename Kind::fiber child) {
        if (child.joinable()) {
          ++*me.late;
          child.join();
        }
        ++*me.joined;
        if (me.left == 0)
          return {};
        child = Kind::spawn([turns = --me.left % 4] {
          for (int i = 0; i < turns; ++i)
            Kind::yield();
        });
        return become(sennit::joining_until(std::move(child), racing_deadlines<Kind>::close(me.left)), on,
                      me);
      }
    };
    std::atomic<long> joined = 0;
    std::atomic<long> late = 0;
    running<Kind> waiting;
    constexpr int rounds = 2500;
    for (int i = 0; i < 4; ++i)
      waiting([&] { return joining::on({&joined, &late, rounds}, {}); });
    waiting.join();
    EXPECT_EQ(joined, 4 * (rounds + 1));
    EXPECT_LE(late, joined);
  });
}

// Notices and deadlines: whoever goes on has the lock, and what was put there is taken once.
KIND_TEST(BecomeTimedWaits, DeadlinesRaceWithNotices) {
  this->run([] {
    struct board {
      typename Kind::mutex mutex;
      typename Kind::condition_variable changed;
      long there = 0;
      long taken = 0;
      int inside = 0;
      bool enough = false;
    } its;
    struct taking {
      board* at;
      int round;
      using ended = std::pair<std::unique_lock<typename Kind::mutex>, std::cv_status>;
      static continuation on(taking me, ended by) {
        EXPECT_EQ(++me.at->inside, 1);
        me.at->taken += std::exchange(me.at->there, 0);
        --me.at->inside;
        if (me.at->enough)
          return {};
        return become(
            me.at->changed.waiting_until(std::move(by.first), racing_deadlines<Kind>::close(++me.round)), on,
            me);
      }
    };
    running<Kind> waiting;
    for (int i = 0; i < 4; ++i)
      waiting([&its, i] {
        return taking::on({&its, i}, {std::unique_lock(its.mutex), std::cv_status::timeout});
      });
    constexpr long count = 2500;
    for (long i = 0; i < count; ++i) {
      {
        const std::lock_guard hold(its.mutex);
        EXPECT_EQ(++its.inside, 1);
        ++its.there;
        --its.inside;
      }
      i % 2 == 0 ? its.changed.notify_one() : its.changed.notify_all();
      if (i % 50 == 0)
        Kind::sleep_for(20us);
      else if (i % 3 == 0)
        Kind::yield();
    }
    {
      const std::lock_guard hold(its.mutex);
      its.enough = true;
    }
    its.changed.notify_all();
    waiting.join();
    EXPECT_EQ(its.taken + its.there, count);
    EXPECT_TRUE(its.mutex.try_lock());
    its.mutex.unlock();
  });
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
    int begun = 0;  // who begins counts as late; and it may be that each has a worker to itself, one by one
    for (int round = 0; late == begun && round < 1000; ++round) {
      std::vector<sennit::fiber> all;
      for (int i = 0; i < 8; ++i, ++begun)
        all.push_back(sennit::spawn([&] { return turn::on({&mutex, &inside, &late, 1000}, false); }));
      for (auto& each : all)
        each.join();
    }
    EXPECT_GT(late, begun);  // else nobody was late
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

}  // namespace
