// sennit::local::condition_variable: fibers of one local runtime wait for each other.
// room: sync
//
//   sennit::local::mutex mutex;
//   sennit::local::condition_variable changed;
//   std::unique_lock lock(mutex);
//   changed.wait(lock, [&] { return ready; });
//
// Source: Dolan 2013, sections 5.1 and 7.4 (the condvar benchmark).
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/sched/deadline.hpp"
#include "sennit/detail/sched/worker.hpp"
#include "sennit/local/mutex.hpp"

namespace sennit::local {

/// Like sennit::condition_variable, without atomic operations, for the fibers of one local runtime at a
/// time, with a sennit::local::mutex. By default waiters wake in the order in which they came. There are no
/// spurious wake-ups, but another fiber may lock the mutex first: use a predicate.
///
/// A wait throws sennit::cancelled if a stop_guard ends it. The mutex is locked again after each wait, also
/// if an exception leaves it.
class condition_variable {
public:
  /// Wakes waiters in the order in which they came.
  constexpr condition_variable() noexcept = default;
  /// Wakes waiters by other rules (wait_options.hpp). `fairness` has no effect: it is the mutex's.
  explicit constexpr condition_variable(const wait_options& options) noexcept
      : options_(options),
        as_usual_(options.order == wait_order::fifo && options.wake == wake_policy::queue) {}
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;
  /// \pre No fiber waits.
  ~condition_variable() { assert(waiters_.empty() && "sennit: fibers wait for a dead condition"); }

  /// Wakes one waiter, if there is one. Does not block, but with wake_policy::enter the caller yields to
  /// the waiter.
  SENNIT_INLINE void notify_one() {
    if (waiters_.empty())
      return;
    if (as_usual_) [[likely]]
      detail::unpark(detail::list_pop_fiber(waiters_), 0);
    else
      wake_by_options();
  }
  /// Wakes all waiters. Does not block.
  void notify_all() {
    while (!waiters_.empty())
      detail::unpark_in_turn(detail::list_pop_fiber(waiters_), detail::fiber_status::notified);
  }

  /// Unlocks the mutex, waits for a notification, and locks the mutex again.
  ///
  /// \pre The calling fiber holds the lock.
  SENNIT_INLINE void wait(std::unique_lock<mutex>& lock) {
    detail::worker& w = detail::running_worker(notified::reason);
    detail::list_push_back(waiters_, *w.ready.current);
    relock again(lock);
    detail::park(w, detail::fiber_status::waiting, {notified::reason, this});
  }
  /// Waits until the predicate is true. It is called with the mutex locked.
  template <class Predicate>
  SENNIT_INLINE void wait(std::unique_lock<mutex>& lock, Predicate done) {
    while (!done())
      wait(lock);
  }

  /// Like wait(), but gives up at a deadline.
  std::cv_status wait_until(std::unique_lock<mutex>& lock, std::chrono::steady_clock::time_point deadline) {
    detail::worker& w = detail::running_worker(notified::reason);
    detail::list_push_back(waiters_, *w.ready.current);
    relock again(lock);
    return detail::park_until(w, detail::fiber_status::waiting, {notified::reason, this}, deadline)
               ? std::cv_status::no_timeout
               : std::cv_status::timeout;
  }
  /// Like wait() with a predicate, but gives up at a deadline. Returns the predicate's last value.
  template <class Predicate>
  bool wait_until(std::unique_lock<mutex>& lock, std::chrono::steady_clock::time_point deadline,
                  Predicate done) {
    while (!done())
      if (wait_until(lock, deadline) == std::cv_status::timeout)
        return done();
    return true;
  }
  /// Like wait(), but gives up at a time of any clock. If that clock is set back during the wait, it may
  /// return no_timeout without a notification.
  template <class Clock, class Duration>
  std::cv_status wait_until(std::unique_lock<mutex>& lock,
                            const std::chrono::time_point<Clock, Duration>& time) {
    const std::cv_status result = wait_until(lock, detail::deadline_after(detail::time_until(time)));
    return detail::time_until(time) > std::chrono::nanoseconds::zero() ? std::cv_status::no_timeout : result;
  }
  /// Like wait() with a predicate, but gives up at a time of any clock. Returns the predicate's last value.
  template <class Clock, class Duration, class Predicate>
  bool wait_until(std::unique_lock<mutex>& lock, const std::chrono::time_point<Clock, Duration>& time,
                  Predicate done) {
    while (!done())
      if (wait_until(lock, time) == std::cv_status::timeout)
        return done();
    return true;
  }
  /// Like wait(), with or without a predicate, but gives up after a duration. Returns what wait_until()
  /// returns.
  template <class Rep, class Period, class... Predicate>
  auto wait_for(std::unique_lock<mutex>& lock, std::chrono::duration<Rep, Period> time, Predicate... done) {
    return wait_until(lock, detail::deadline_after(time), std::move(done)...);
  }

  /// wait() without a stack, for become(), whose function gets the lock, which is held.
  auto waiting(std::unique_lock<mutex> lock) noexcept { return notified(*this, std::move(lock)); }
  /// wait_until() without a stack, for become(). Its function gets a `std::pair` of the lock, which is held
  /// in either case, and the `std::cv_status`.
  auto waiting_until(std::unique_lock<mutex> lock, std::chrono::steady_clock::time_point deadline) noexcept {
    return detail::timed_wait(waiting(std::move(lock)), deadline);
  }

private:
  class notified : public detail::continuation_wait {
  public:
    static constexpr const char* reason = "condition variable";
    SENNIT_OBJECT_AT(notified, of_)
    notified(condition_variable& of, std::unique_lock<mutex>&& lock) noexcept
        : of_(&of), lock_(std::move(lock)) {
      assert(lock_.owns_lock() && "sennit: waiting without the lock");
    }
    bool file(detail::fiber& f) noexcept { return file(f, f); }
    static bool withdraw(detail::fiber&) noexcept { return false; }
    std::unique_lock<mutex> end(detail::fiber&, std::uintptr_t, detail::fiber_status) { return relocked(); }

    // For timed_wait.
    bool file(detail::fiber& f, detail::waiter& me) noexcept {
      detail::must_be_of_kind(f, false, reason);
      f.flags.status = detail::fiber_status::waiting;
      detail::list_push_back(of_->waiters_, me);
      lock_.unlock();
      return true;
    }
    static bool leave(detail::waiter&) noexcept { return true; }  // stop_waiting() has done it
    auto end_by(detail::time_point, bool in_time) {
      return std::pair(relocked(), in_time ? std::cv_status::no_timeout : std::cv_status::timeout);
    }

  private:
    std::unique_lock<mutex> relocked() {
      lock_.mutex()->lock_again();
      return {*lock_.release(), std::adopt_lock};
    }

    condition_variable* of_;
    std::unique_lock<mutex> lock_;
  };

  struct relock {
    SENNIT_INLINE explicit relock(std::unique_lock<mutex>& held) : held_mutex(*held.mutex()) {
      assert(held.owns_lock() && "sennit: waiting without the lock");
      held_mutex.unlock();
    }
    SENNIT_INLINE ~relock() { held_mutex.lock_again(); }
    mutex& held_mutex;
  };

  void wake_by_options();

  detail::waiter_list waiters_;
  wait_options options_;
  bool as_usual_ = true;
};

}  // namespace sennit::local
