// Stops that race with wakes and deadlines, in waits without a stack.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/select.hpp"
#include "support/kinds.hpp"
#include "wait_kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::continuation;
using sennit::generous;
using sennit::running;
using sennit::steady;
using sennit::stoppable;
using sennit::watched_locks;

template <class Kind>
class BecomeStopRaces : public sennit::kind_test<Kind> {};

// The sources of fibers that wait again and again, and the threads that stop them.
class stops {
public:
  explicit stops(std::size_t count) : sources_(count, std::stop_source(std::nostopstate)) {}

  std::stop_token renew(std::size_t whose) {
    std::stop_source fresh;
    std::stop_token token = fresh.get_token();
    const std::lock_guard hold(lock_);
    std::swap(sources_[whose], fresh);
    return token;
  }
  void request(std::size_t whose) {
    std::stop_source source(std::nostopstate);
    {
      const std::lock_guard hold(lock_);
      source = sources_[whose];
    }
    source.request_stop();
  }
  std::size_t size() const { return sources_.size(); }

private:
  std::mutex lock_;
  std::vector<std::stop_source> sources_;
};

// Wakes, deadlines and stops that come at the same time: what one does not get, another does.
template <class Kind>
struct racing_stops {
#if defined(SENNIT_ASAN)
  static constexpr int rounds = 500;  // five times as slow, and threads are looked at by ThreadSanitizer
#else
  static constexpr int rounds = 2500;
#endif
  static constexpr std::size_t each = 2;
  static constexpr std::size_t kinds = 9;
  static constexpr std::size_t count = each * kinds;

  using numbers_port = typename Kind::template port<int, int>;

  typename Kind::counting_semaphore permits{0};
  typename Kind::template channel<long> numbers;
  typename Kind::template channel<std::string> texts{2};
  typename Kind::template channel<long> selected;
  watched_locks<Kind> held;
  typename Kind::condition_variable changed;
  typename Kind::mutex board;
  numbers_port port;
  std::atomic<long> acquired = 0;
  std::atomic<long> sum = 0;
  std::atomic<long> length = 0;
  std::atomic<long> selected_sum = 0;
  long at_the_board = 0;
  std::atomic<long> joined = 0;
  std::atomic<long> replied = 0;
  std::atomic<long> unanswered = 0;
  std::atomic<long> stopped = 0;
  std::atomic<std::size_t> ended = 0;
  stops of{count};

  struct turn {
    racing_stops* in;
    std::size_t number;
    int left = rounds;

    // By a stop, or by that or a deadline.
    template <class Timed>
    auto with(Timed wait) {
      return stoppable(std::move(wait), in->of.renew(number));
    }
    steady::time_point close() const { return steady::now() + std::chrono::microseconds(left % 7 * 20); }
    bool over(bool came) {
      in->stopped += !came;
      return --left < 0;
    }
    continuation end() {
      ++in->ended;
      return {};
    }

    static continuation acquires(turn me, bool had) {
      me.in->acquired += had;
      if (me.over(had))
        return me.end();
      return me.left % 2 == 0 ? become(me.with(me.in->permits.acquiring()), acquires, me)
                              : become(me.with(me.in->permits.acquiring_until(me.close())), acquires, me);
    }
    static continuation receives(turn me, std::optional<long> number) {
      me.in->sum += number.value_or(0);
      if (me.over(number.has_value()))
        return me.end();
      return me.left % 2 == 0 ? become(me.with(me.in->numbers.receiving()), receives, me)
                              : become(me.with(me.in->numbers.receiving_until(me.close())), receives, me);
    }
    static continuation reads(turn me, std::optional<std::string> text) {
      me.in->length += text ? static_cast<long>(text->size()) : 0;
      if (me.over(text.has_value()))
        return me.end();
      return become(me.with(me.in->texts.receiving()), reads, me);
    }
    static continuation selects(turn me, std::size_t) {
      if (me.over(true))
        return me.end();
      return become(me.with(sennit::selecting(
                        sennit::on_receive(me.in->selected,
                                           [in = me.in](auto n) { in->selected_sum += n.value_or(0); }),
                        sennit::on_timeout(me.left % 2 == 0 ? generous() : me.close(), [] {}))),
                    selects, me);
    }
    static continuation locks(turn me, bool locked) {
      if (locked)
        me.in->held.has_mutex();
      if (me.over(locked))
        return me.end();
      return me.left % 2 == 0 ? become(me.with(me.in->held.mutex.locking()), locks, me)
                              : become(me.with(me.in->held.mutex.locking_until(me.close())), locks, me);
    }
    static continuation reads_or_writes(turn me, bool locked) {
      if (locked && me.left % 2 == 0)
        me.in->held.writes();
      else if (locked)
        me.in->held.reads();
      if (me.over(locked))
        return me.end();
      return me.left % 2 == 0 ? become(me.with(me.in->held.shared.locking()), reads_or_writes, me)
                              : become(me.with(me.in->held.shared.locking_shared()), reads_or_writes, me);
    }
    static continuation looks(turn me,
                              std::pair<std::unique_lock<typename Kind::mutex>, std::cv_status> ended) {
      EXPECT_TRUE(ended.first.owns_lock());
      EXPECT_EQ(++me.in->at_the_board, 1);
      --me.in->at_the_board;
      if (me.over(ended.second == std::cv_status::no_timeout))
        return me.end();
      return become(me.with(me.in->changed.waiting(std::move(ended.first))), looks, me);
    }
    static continuation joins(turn me, typename Kind::fiber child) {
      const bool stopped_first = child.joinable();
      if (stopped_first)
        child.join();
      ++me.in->joined;
      if (me.over(!stopped_first))
        return me.end();
      child = Kind::spawn([turns = me.left % 3] {
        for (int i = 0; i < turns; ++i)
          Kind::yield();
      });
      return become(me.with(sennit::joining(std::move(child))), joins, me);
    }
    static continuation calls(turn me, typename numbers_port::answer answer) {
      bool came = true;
      try {
        EXPECT_EQ(answer.get(), 2 * (me.left + 1));
        ++me.in->replied;
      } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), std::errc::operation_canceled);
        came = false;
        ++me.in->unanswered;
      }
      if (me.over(came))
        return me.end();
      return begins_call(me);
    }
    static continuation begins_call(turn me) {
      auto call = me.in->port.calling(me.left + 1);
      return become(me.with(std::move(call)), calls, me);
    }
  };
};

KIND_TEST(BecomeStopRaces, WithWakesAndDeadlines) {
  this->run([] {
    racing_stops<Kind> race;
    using turn = typename racing_stops<Kind>::turn;
    running<Kind> waiting;
    for (std::size_t i = 0; i < race.count;) {
      waiting([&race, i] { return turn::acquires({&race, i}, false); });
      ++i;
      waiting([&race, i] { return turn::receives({&race, i}, {}); });
      ++i;
      waiting([&race, i] { return turn::reads({&race, i}, {}); });
      ++i;
      waiting([&race, i] { return turn::selects({&race, i}, 0); });
      ++i;
      waiting([&race, i] { return turn::locks({&race, i}, false); });
      ++i;
      waiting([&race, i] { return turn::reads_or_writes({&race, i}, false); });
      ++i;
      waiting([&race, i] {
        return turn::looks({&race, i}, {std::unique_lock(race.board), std::cv_status::timeout});
      });
      ++i;
      waiting([&race, i] { return turn::joins({&race, i}, {}); });
      ++i;
      waiting([&race, i] { return turn::begins_call({&race, i}); });
      ++i;
    }
    std::thread elsewhere([&race] {
      for (std::size_t i = 0; race.ended != race.count; i = (i + 1) % race.count) {
        race.of.request(i);
        if (i % 5 == 0)
          std::this_thread::yield();
      }
    });
    std::atomic<long> served = 0;
    auto serves = Kind::spawn([&] {
      race.port.serve([&](int x) {
        ++served;
        return 2 * x;
      });
    });
    long released = 0;
    long sent = 0;
    long written = 0;
    long offered = 0;
    for (long i = 1; race.ended != race.count; ++i) {
      race.permits.release();
      ++released;
      long number = i;
      if (race.numbers.send_until(number, turn{&race, 0, static_cast<int>(i % 7)}.close()))
        sent += i;
      std::string text(40, 'x');
      if (race.texts.try_send(text))
        written += 40;
      number = i;
      if (race.selected.try_send(number))
        offered += i;
      race.changed.notify_one();
      race.of.request(static_cast<std::size_t>(i) % race.count);
      if (i % 50 == 0)
        Kind::sleep_for(20us);
      else if (i % 3 == 0)
        Kind::yield();
    }
    waiting.join();
    elsewhere.join();
    race.port.close();
    serves.join();
    while (race.permits.try_acquire())
      ++race.acquired;
    while (const auto left = race.texts.try_receive())
      race.length += static_cast<long>(left->size());
    EXPECT_EQ(race.acquired, released);
    EXPECT_EQ(race.sum, sent);
    EXPECT_EQ(race.length, written);
    EXPECT_EQ(race.selected_sum, offered);
    EXPECT_EQ(race.joined, race.each * (race.rounds + 1));
    EXPECT_EQ(race.replied + race.unanswered, race.each * (race.rounds + 1));
    EXPECT_LE(race.replied, served);
    EXPECT_GT(race.stopped, 0);
    EXPECT_TRUE(race.board.try_lock());
    race.board.unlock();
    race.held.expect_free();
  });
}

// An unpark that comes together with a stop is not lost: it ends this park, or the next.
KIND_TEST(BecomeStopRaces, WithUnparks) {
  this->run([] {
    struct board {
      stops of{1};
      std::atomic<int> unparked = 0;
      std::atomic<int> stopped = 0;
    } its;
    struct parking {
      board* at;
      int left;
      static continuation on(parking me, bool unparked) {
        ++(unparked ? me.at->unparked : me.at->stopped);
        if (unparked && --me.left == 0)
          return {};
        return wait(me);
      }
      static continuation wait(parking me) {
        return become(stoppable(sennit::this_fiber::parking(), me.at->of.renew(0)), on, me);
      }
    };
    constexpr int rounds = 10000;
    auto parks = Kind::spawn([&] { return parking::wait({&its, rounds}); });
    std::atomic<bool> over = false;
    std::thread elsewhere([&] {
      while (!over) {
        its.of.request(0);
        std::this_thread::yield();
      }
    });
    for (int i = 0; i < rounds; ++i) {
      parks.unpark();
      while (its.unparked == i)
        Kind::yield();
    }
    parks.join();
    over = true;
    elsewhere.join();
    EXPECT_EQ(its.unparked, rounds);
  });
}

}  // namespace
