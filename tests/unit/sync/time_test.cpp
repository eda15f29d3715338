// Durations and clocks: each function that takes a duration takes any, and each that takes a time as std's
// requirements have it takes that of any clock. A duration that the clock cannot hold means for ever.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <mutex>
#include <ratio>
#include <shared_mutex>
#include <stop_token>

#include "sennit/become.hpp"
#include "sennit/condition_variable_any.hpp"
#include "sennit/detail/timer/deadline.hpp"
#include "sennit/local/condition_variable_any.hpp"
#include "sennit/select.hpp"
#include "sennit/stop_guard.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using steady = std::chrono::steady_clock;

TEST(Deadline, SaturatesWhereTheClockCannotHoldIt) {
  using detail::saturated;
  static_assert(saturated(nanoseconds::max()) == nanoseconds::max());
  static_assert(saturated(nanoseconds::min()) == nanoseconds::min());
  static_assert(saturated(std::chrono::hours::max()) == nanoseconds::max());
  static_assert(saturated(std::chrono::hours::min()) == nanoseconds::min());
  static_assert(saturated(std::chrono::seconds(std::numeric_limits<std::int64_t>::max())) ==
                nanoseconds::max());
  static_assert(saturated(1h) == 3600s && saturated(-1h) == -3600s && saturated(0s) == 0ns);
  static_assert(saturated(0.5s) == 500ms && saturated(std::chrono::duration<float>(0.25f)) == 250ms);
  static_assert(saturated(std::chrono::duration<long, std::pico>(1)) == 1ns);  // a wait is never too short
  static_assert(saturated(std::chrono::duration<double>(1e300)) == nanoseconds::max());
  EXPECT_EQ(saturated(std::chrono::duration<double>(std::numeric_limits<double>::infinity())),
            nanoseconds::max());
  EXPECT_EQ(saturated(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())),
            nanoseconds::min());
  EXPECT_EQ(detail::later(steady::now(), nanoseconds::max() - 1ns), no_deadline);
  EXPECT_LT(detail::deadline_after(nanoseconds::min()), steady::now());
  EXPECT_LT(detail::deadline_after(-1h), steady::now() - 59min);
  EXPECT_EQ(detail::time_until(std::chrono::system_clock::time_point::max()), nanoseconds::max());
  EXPECT_EQ(detail::time_until(std::chrono::system_clock::time_point::min()), 0ns);
  EXPECT_EQ(detail::time_until(std::chrono::sys_days::max()), nanoseconds::max());
}

// Its times are negative: 280 years before its epoch.
struct before_its_epoch {
  using duration = nanoseconds;
  using time_point = std::chrono::time_point<before_its_epoch>;
  static time_point now() { return time_point(-std::chrono::hours(24 * 365 * 280)); }
};

TEST(Deadline, DoesNotOverflowOnItsWay) {
  using frames = std::chrono::duration<std::int64_t, std::ratio<1001, 30000>>;
  constexpr std::chrono::hours years_200(24 * 365 * 200);
  static_assert(detail::saturated(std::chrono::duration_cast<frames>(years_200)) > years_200 - 1h);
  static_assert(detail::saturated(std::chrono::duration_cast<frames>(years_200)) < years_200 + 1h);
  EXPECT_EQ(detail::time_until(before_its_epoch::time_point(years_200)), nanoseconds::max());
  EXPECT_EQ(detail::time_until(before_its_epoch::now() + 1h), 1h);
}

template <class Kind>
class Time : public kind_test<Kind> {};

// Each way to wait for a duration. `go` lets it succeed.
template <class Kind, class Duration>
void expect_waits_until_woken(Duration time) {
  const auto try_it = [](const char* what, auto wait, auto go) {
    bool result = false, back = false;
    auto waits = start<Kind>([&] {
      result = wait();
      back = true;
    });
    for (int i = 0; i < 20; ++i)
      Kind::yield();
    EXPECT_FALSE(back) << what << " did not wait";
    go();
    waits.join();
    EXPECT_TRUE(result) << what;
  };
  typename Kind::event event;
  try_it("event", [&] { return event.wait_for(time); }, [&] { event.set(); });
  typename Kind::counting_semaphore permits(0);
  try_it("semaphore", [&] { return permits.try_acquire_for(time); }, [&] { permits.release(); });
  typename Kind::wait_group group;
  group.add(1);
  try_it("wait group", [&] { return group.wait_for(time); }, [&] { group.done(); });
  typename Kind::mutex mutex;
  mutex.lock();
  try_it("mutex", [&] { return mutex.try_lock_for(time); }, [&] { mutex.unlock(); });
  typename Kind::shared_mutex shared;
  shared.lock();
  try_it("shared mutex", [&] { return shared.try_lock_for(time); }, [&] { shared.unlock(); });
  try_it("shared lock", [&] { return shared.try_lock_shared_for(time); }, [&] { shared.unlock(); });
  shared.unlock_shared();
  typename Kind::template promise<int> promise;
  auto future = promise.get_future();
  try_it("future", [&] { return future.wait_for(time); }, [&] { promise.set_value(1); });
  typename Kind::event ends;
  auto other = Kind::spawn([&] { ends.wait(); });
  try_it("join", [&] { return other.join_for(time); }, [&] { ends.set(); });
  typename Kind::condition_variable condition;
  bool ready = false;
  const auto announce = [&] {
    const std::lock_guard hold(mutex);
    ready = true;
  };
  mutex.unlock();
  try_it(
      "condition variable",
      [&] {
        std::unique_lock hold(mutex);
        return condition.wait_for(hold, time, [&] { return ready; });
      },
      [&] {
        announce();
        condition.notify_all();
      });
  typename Kind::template channel<int> numbers;
  try_it(
      "select", [&] { return select(on_receive(numbers, [](auto) {}), on_timeout(time, [] {})) == 0; },
      [&] { numbers.send(1); });
}

KIND_TEST_UP_TO(2, Time, ALargestDurationWaitsForEver) {
  this->run([] {
    expect_waits_until_woken<Kind>(nanoseconds::max());
    expect_waits_until_woken<Kind>(std::chrono::hours::max());
    expect_waits_until_woken<Kind>(std::chrono::duration<double>(1e18));
  });
}

KIND_TEST_UP_TO(1, Time, ADurationOfAnyTypeEnds) {
  this->run([] {
    typename Kind::event never;
    typename Kind::counting_semaphore permits(0);
    typename Kind::mutex mutex;
    typename Kind::condition_variable condition;
    typename Kind::template channel<int> numbers;
    using picoseconds = std::chrono::duration<std::int64_t, std::pico>;
    EXPECT_FALSE(never.wait_for(0.001s));
    EXPECT_FALSE(never.wait_for(picoseconds(1)));
    EXPECT_FALSE(never.wait_for(nanoseconds::min()));
    EXPECT_FALSE(permits.try_acquire_for(std::chrono::duration<float>(0.001f)));
    EXPECT_TRUE(std::unique_lock(mutex, 0.001s).owns_lock());
    std::unique_lock hold(mutex);
    EXPECT_EQ(condition.wait_for(hold, 0.001s), std::cv_status::timeout);
    EXPECT_EQ(select(on_receive(numbers, [](auto) {}), on_timeout(0.001s, [] {})), 1u);
  });
}

// A clock that runs behind the steady one, and that was set back once.
struct set_back {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<set_back>;
  static constexpr bool is_steady = false;
  static inline int looks = 0;
  static time_point now() {
    return time_point(std::chrono::duration_cast<duration>(steady::now().time_since_epoch()) -
                      (looks++ < 2 ? 0ms : 20ms));
  }
};

KIND_TEST_UP_TO(1, Time, AClockOfAnyKindIsWaitedFor) {
  this->run([] {
    using system = std::chrono::system_clock;
    typename Kind::event never;
    typename Kind::counting_semaphore permits(0);
    typename Kind::shared_mutex shared;
    typename Kind::recursive_mutex recursive;
    typename Kind::mutex mutex;
    typename Kind::condition_variable condition;
    EXPECT_FALSE(never.wait_until(system::now() + 1ms));
    EXPECT_FALSE(never.wait_until(std::chrono::time_point_cast<std::chrono::milliseconds>(steady::now())));
    EXPECT_FALSE(never.wait_until(steady::now() + 0.001s));
    EXPECT_FALSE(permits.try_acquire_until(system::now() + 1ms));
    EXPECT_TRUE(recursive.try_lock_until(system::now() + 1ms));
    recursive.unlock();
    EXPECT_TRUE(std::unique_lock(shared, system::now() + 1h).owns_lock());
    EXPECT_TRUE(std::shared_lock(shared, system::now() + 1h).owns_lock());
    EXPECT_TRUE(std::unique_lock(mutex, system::now() + 1h).owns_lock());
    std::unique_lock hold(mutex);
    EXPECT_EQ(condition.wait_until(hold, system::now() + 1ms), std::cv_status::timeout);
    EXPECT_FALSE(condition.wait_until(hold, system::now() + 1ms, [] { return false; }));
    EXPECT_TRUE(condition.wait_until(hold, system::now() - 1h, [] { return true; }));

    set_back::looks = 0;
    const set_back::time_point wanted = set_back::now() + 1ms;
    EXPECT_FALSE(never.wait_until(wanted));
    EXPECT_GE(set_back::now(), wanted);
  });
}

// The condition variable that takes any lock, of either kind.
template <class Kind>
using any_of = std::conditional_t<std::is_same_v<Kind, parallel_kind>, condition_variable_any,
                                  local::condition_variable_any>;

KIND_TEST(Time, AConditionVariableForAnyLockWakesItsWaiters) {
  this->run([] {
    typename Kind::shared_mutex mutex;
    any_of<Kind> changed;
    int turn = 0;
    auto reader = Kind::spawn([&] {
      std::shared_lock hold(mutex);
      changed.wait(hold, [&] { return turn == 1; });
      EXPECT_TRUE(changed.wait_for(hold, nanoseconds::max(), [&] { return turn >= 1; }));
    });
    auto writer = Kind::spawn([&] {
      for (int i = 0; i < 100; ++i) {
        std::unique_lock hold(mutex);
        changed.wait(hold, [&] { return turn == 1; });
        turn = 0;
        hold.unlock();
        changed.notify_all();
      }
    });
    for (int i = 0; i < 101; ++i) {
      std::unique_lock hold(mutex);
      changed.wait(hold, [&] { return turn == 0; });
      turn = 1;
      hold.unlock();
      changed.notify_all();
    }
    reader.join();
    writer.join();
  });
}

KIND_TEST_UP_TO(2, Time, AConditionVariableForAnyLockEndsByTimeAndByStop) {
  this->run([] {
    typename Kind::mutex mutex;
    any_of<Kind> changed;
    std::unique_lock hold(mutex);
    EXPECT_EQ(changed.wait_for(hold, 0.001s), std::cv_status::timeout);
    EXPECT_FALSE(changed.wait_until(hold, std::chrono::system_clock::now() + 1ms, [] { return false; }));
    EXPECT_TRUE(hold.owns_lock());
    hold.unlock();

    std::stop_source stop;
    auto stopped = start<Kind>([&] {
      std::unique_lock mine(mutex);
      EXPECT_FALSE(changed.wait(mine, stop.get_token(), [] { return false; }));
      EXPECT_TRUE(mine.owns_lock());
      EXPECT_TRUE(changed.wait(mine, stop.get_token(), [] { return true; }));
      EXPECT_FALSE(changed.wait_for(mine, stop.get_token(), 1h, [] { return false; }));
    });
    for (int i = 0; i < 10; ++i)
      Kind::yield();
    stop.request_stop();
    stopped.join();

    std::stop_source outer;
    bool was_cancelled = false;
    auto guarded = start<Kind>([&] {
      const stop_guard guard(outer.get_token());
      std::unique_lock mine(mutex);
      try {
        changed.wait(mine, std::stop_token(), [] { return false; });
      } catch (const cancelled&) {
        was_cancelled = mine.owns_lock();
        throw;
      }
    });
    for (int i = 0; i < 10; ++i)
      Kind::yield();
    outer.request_stop();
    guarded.join();
    EXPECT_TRUE(was_cancelled);
  });
}

// A waiter that was notified does not need the object any more.
KIND_TEST(Time, AConditionVariableForAnyLockMayBeDestroyedOnceItsWaitersWereNotified) {
  this->run([] {
    typename Kind::mutex mutex;
    for (int i = 0; i < 50; ++i) {
      auto changed = std::make_unique<any_of<Kind>>();
      bool waits = false, ready = false;
      auto waiter = Kind::spawn([&] {
        std::unique_lock hold(mutex);
        waits = true;
        changed->wait(hold, [&] { return ready; });
      });
      for (bool seen = false; !seen; Kind::yield()) {
        const std::lock_guard hold(mutex);
        seen = waits;
      }
      {
        const std::lock_guard hold(mutex);
        ready = true;
        changed->notify_all();
        changed.reset();
      }
      waiter.join();
    }
  });
}

}  // namespace
}  // namespace sennit
