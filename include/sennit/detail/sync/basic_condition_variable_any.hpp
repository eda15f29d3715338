// Condition variables that wait with any lock: a mutex and a condition variable of their own, between which
// and the caller's lock a notification cannot get lost.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"
#include "sennit/detail/wait/stop.hpp"
#include "sennit/stop_guard.hpp"

namespace sennit::inline v0_1::detail {

/// The members of sennit::condition_variable_any and sennit::local::condition_variable_any.
///
/// A wait throws sennit::cancelled if a stop_guard ends it, and whatever the lock throws. The caller holds
/// the lock again in any case.
template <class Mutex, class Condition>
class basic_condition_variable_any {
public:
  /// \throws std::bad_alloc if there is no memory
  basic_condition_variable_any() : inner_(std::make_shared<inner>()) {}
  basic_condition_variable_any(const basic_condition_variable_any&) = delete;
  basic_condition_variable_any& operator=(const basic_condition_variable_any&) = delete;

  /// Wakes one waiter, if there is one. A stop does not cancel it.
  void notify_one() {
    const own_lock hold(inner_->mutex);
    inner_->condition.notify_one();
  }
  /// Wakes all waiters. A stop does not cancel it.
  void notify_all() {
    const own_lock hold(inner_->mutex);
    inner_->condition.notify_all();
  }

  /// Unlocks the lock, waits for a notification, and locks it again.
  ///
  /// \pre The caller holds the lock.
  template <class Lock>
  void wait(Lock& lock) {
    wait_until(lock, no_deadline);
  }
  /// Waits until the predicate is true. It is called with the lock held.
  template <class Lock, class Predicate>
  void wait(Lock& lock, Predicate done) {
    while (!done())
      wait(lock);
  }

  /// Like wait(), but gives up at a deadline.
  template <class Lock>
  std::cv_status wait_until(Lock& lock, std::chrono::steady_clock::time_point deadline) {
    const std::shared_ptr<inner> mine = inner_;  // a waiter that was notified outlives the object
    std::unique_lock own(mine->mutex);
    const relock<Lock> again(lock);
    std::unique_lock held(std::move(own));  // let go before the caller's lock is taken again
    return mine->condition.wait_until(held, deadline);
  }
  /// Like wait(), but gives up at a time of any clock. If that clock is set back during the wait, it may
  /// return no_timeout without a notification.
  template <class Lock, class Clock, class Duration>
  std::cv_status wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& time) {
    const std::cv_status result = wait_until(lock, deadline_after(time_until(time)));
    return time_until(time) > std::chrono::nanoseconds::zero() ? std::cv_status::no_timeout : result;
  }
  /// Like wait() with a predicate, but gives up at a time of any clock. Returns the predicate's last value.
  template <class Lock, class Clock, class Duration, class Predicate>
  bool wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& time, Predicate done) {
    while (!done())
      if (wait_until(lock, time) == std::cv_status::timeout)
        return done();
    return true;
  }
  /// Like wait(), with or without a predicate, but gives up after a duration. Returns what wait_until()
  /// returns.
  template <class Lock, class Rep, class Period, class... Predicate>
  auto wait_for(Lock& lock, std::chrono::duration<Rep, Period> time, Predicate... done) {
    return wait_until(lock, deadline_after(time), std::move(done)...);
  }

  /// Waits until the predicate is true, or a stop is requested. Returns false if it gave up because of the
  /// stop.
  template <class Lock, class Predicate>
  bool wait(Lock& lock, const std::stop_token& token, Predicate done) {
    return wait_until(lock, token, no_deadline, std::move(done));
  }
  /// Waits until the predicate is true, a stop is requested, or a time of any clock. Returns false after a
  /// stop, and the predicate's value after the time.
  template <class Lock, class Clock, class Duration, class Predicate>
  bool wait_until(Lock& lock, const std::stop_token& token,
                  const std::chrono::time_point<Clock, Duration>& time, Predicate done) {
    while (!done()) {
      if (token.stop_requested())
        return false;
      try {
        const stop_guard guard(token);
        if (wait_until(lock, time) == std::cv_status::timeout)
          return done();
      } catch (const cancelled&) {
        if (!token.stop_requested())
          throw;  // a stop_guard of the caller's
      }
    }
    return true;
  }
  /// Waits until the predicate is true, a stop is requested, or a duration has passed. Returns as
  /// wait_until() does.
  template <class Lock, class Rep, class Period, class Predicate>
  bool wait_for(Lock& lock, const std::stop_token& token, std::chrono::duration<Rep, Period> time,
                Predicate done) {
    return wait_until(lock, token, deadline_after(time), std::move(done));
  }

private:
  struct inner {
    Mutex mutex;
    Condition condition;
  };
  // A notification cannot be cancelled.
  struct own_lock {
    explicit own_lock(Mutex& mutex) : held(mutex) {
      wait_uninterruptible([&] { held.lock(); });
    }
    ~own_lock() { held.unlock(); }
    own_lock(const own_lock&) = delete;
    own_lock& operator=(const own_lock&) = delete;
    Mutex& held;
  };
  template <class Lock>
  struct relock {
    explicit relock(Lock& lock) : held(lock) { held.unlock(); }
    ~relock() noexcept(false) {
      wait_uninterruptible([&] { held.lock(); });
    }
    relock(const relock&) = delete;
    relock& operator=(const relock&) = delete;
    Lock& held;
  };

  std::shared_ptr<inner> inner_;
};

}  // namespace sennit::inline v0_1::detail
