// Condition variables that wait with any lock: a mutex and a condition variable of their own, between which
// and the caller's lock a notification cannot get lost.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

#include "sennit/detail/sched/deadline.hpp"
#include "sennit/detail/sched/stop.hpp"
#include "sennit/stop_guard.hpp"

namespace sennit::detail {

template <class Mutex, class Condition>
class basic_condition_variable_any {
public:
  // Throws std::bad_alloc.
  basic_condition_variable_any() : inner_(std::make_shared<inner>()) {}
  basic_condition_variable_any(const basic_condition_variable_any&) = delete;
  basic_condition_variable_any& operator=(const basic_condition_variable_any&) = delete;

  // Wakes one waiter, or all.
  void notify_one() {
    const own_lock hold(inner_->mutex);
    inner_->condition.notify_one();
  }
  void notify_all() {
    const own_lock hold(inner_->mutex);
    inner_->condition.notify_all();
  }

  // Precondition: the caller holds the lock; it holds it again afterwards, also if an exception comes out.
  template <class Lock>
  void wait(Lock& lock) {
    wait_until(lock, no_deadline);
  }
  template <class Lock, class Predicate>
  void wait(Lock& lock, Predicate done) {
    while (!done())
      wait(lock);
  }

  // They give up at the deadline.
  template <class Lock>
  std::cv_status wait_until(Lock& lock, std::chrono::steady_clock::time_point deadline) {
    const std::shared_ptr<inner> mine = inner_;  // a waiter that was notified outlives the object
    std::unique_lock own(mine->mutex);
    const relock<Lock> again(lock);
    std::unique_lock held(std::move(own));  // let go before the caller's lock is taken again
    return mine->condition.wait_until(held, deadline);
  }
  template <class Lock, class Clock, class Duration>
  std::cv_status wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& time) {
    const std::cv_status result = wait_until(lock, deadline_after(time_until(time)));
    return time_until(time) > std::chrono::nanoseconds::zero() ? std::cv_status::no_timeout : result;
  }
  template <class Lock, class Clock, class Duration, class Predicate>
  bool wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& time, Predicate done) {
    while (!done())
      if (wait_until(lock, time) == std::cv_status::timeout)
        return done();
    return true;
  }
  template <class Lock, class Rep, class Period, class... Predicate>
  auto wait_for(Lock& lock, std::chrono::duration<Rep, Period> time, Predicate... done) {
    return wait_until(lock, deadline_after(time), std::move(done)...);
  }

  // They also give up when a stop is requested of the token, and return the predicate's value then.
  template <class Lock, class Predicate>
  bool wait(Lock& lock, const std::stop_token& token, Predicate done) {
    return wait_until(lock, token, no_deadline, std::move(done));
  }
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
      wait_in_any_case([&] { held.lock(); });
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
      wait_in_any_case([&] { held.lock(); });
    }
    relock(const relock&) = delete;
    relock& operator=(const relock&) = delete;
    Lock& held;
  };

  std::shared_ptr<inner> inner_;
};

}  // namespace sennit::detail
