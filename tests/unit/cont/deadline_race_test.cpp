// Waits without a stack whose deadlines race with what they wait for.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
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
using sennit::running;
using sennit::steady;
using sennit::watched_locks;

template <class Kind>
class BecomeDeadlineRaces : public sennit::kind_test<Kind> {};

// Deadlines and wakes that come at the same time: what one does not get, another does.
template <class Kind>
struct racing_deadlines {
  typename Kind::counting_semaphore permits{0};
  typename Kind::template channel<long> numbers;
  typename Kind::template channel<std::string> texts{2};
  watched_locks<Kind> held;
  std::atomic<long> acquired = 0;
  std::atomic<long> sum = 0;
  std::atomic<long> length = 0;
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
      if (locked)
        me.in->held.has_mutex();
      if (me.round > 500)
        return {};
      return become(me.in->held.mutex.locking_until(close(++me.round)), locks, me);
    }
    static continuation reads_or_writes(turn me, bool locked) {
      if (locked && me.round % 4 == 0)
        me.in->held.writes();
      else if (locked)
        me.in->held.reads();
      if (me.round > 500)
        return {};
      const steady::time_point deadline = close(++me.round);
      return me.round % 4 == 0
                 ? become(me.in->held.shared.locking_until(deadline), reads_or_writes, me)
                 : become(me.in->held.shared.locking_shared_until(deadline), reads_or_writes, me);
    }
  };
};

KIND_TEST(BecomeDeadlineRaces, WithWakes) {
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
    race.held.expect_free();
  });
}

// Senders that give up: a value is taken, or was not sent.
KIND_TEST(BecomeDeadlineRaces, WithReceivers) {
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

// Ends and deadlines that come at the same time: each fiber is joined once.
KIND_TEST(BecomeDeadlineRaces, WithEnds) {
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

// Notices and deadlines: the fiber that resumes has the lock, and each stored value is taken once.
KIND_TEST(BecomeDeadlineRaces, WithNotices) {
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

}  // namespace
