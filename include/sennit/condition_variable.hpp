// sennit::condition_variable: fibers and OS threads wait for each other.
// room: sync
//
//   sennit::mutex mutex;
//   sennit::condition_variable changed;
//   std::unique_lock lock(mutex);
//   changed.wait(lock, [&] { return ready; });
//
// Source: Dolan 2013, sections 5.1 and 7.4 (the condvar benchmark).
#pragma once

#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/sched/deadline.hpp"
#include "sennit/detail/sync/wait_queue.hpp"
#include "sennit/mutex.hpp"

namespace sennit {

/// Like `std::condition_variable`, for fibers and OS threads, with a sennit::mutex. A wait blocks only the
/// calling fiber. A fiber of a local runtime may use it, but blocks its thread.
///
/// There are no spurious wake-ups, but another fiber may lock the mutex before the waiter does: use a
/// predicate. A wait throws sennit::cancelled if a stop_guard ends it. The mutex is locked again after each
/// wait, also if an exception leaves it. An owner may destroy the object as soon as all waiters have been
/// notified.
class condition_variable {
public:
  /// Wakes waiters in the order in which they came.
  constexpr condition_variable() noexcept = default;
  /// Wakes waiters by other rules (wait_options.hpp). `fairness` has no effect: it is the mutex's.
  explicit constexpr condition_variable(const wait_options& options) noexcept : options_(options) {}
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;

  /// Wakes one waiter, if there is one. Does not block, but with wake_policy::enter the caller yields to
  /// the waiter. Any thread, with or without the mutex locked.
  SENNIT_INLINE void notify_one() {
    if (!queue_.quiet()) [[unlikely]]
      wake_one();
  }
  /// Wakes all waiters. Does not block. Any thread, with or without the mutex locked.
  void notify_all() {
    if (!queue_.quiet())
      queue_.wake_all(0);
  }

  /// Unlocks the mutex, waits for a notification, and locks the mutex again.
  ///
  /// \pre The caller holds the lock.
  SENNIT_INLINE void wait(std::unique_lock<mutex>& lock) { wait_until(lock, detail::never); }
  /// Waits until the predicate is true. It is called with the mutex locked.
  ///
  /// \pre The caller holds the lock.
  template <class Predicate>
  SENNIT_INLINE void wait(std::unique_lock<mutex>& lock, Predicate done) {
    while (!done())
      wait(lock);
  }

  /// Like wait(), but gives up at a deadline.
  SENNIT_INLINE std::cv_status wait_until(std::unique_lock<mutex>& lock,
                                          std::chrono::steady_clock::time_point deadline) {
    assert(lock.owns_lock() && "sennit: waiting without the lock");
    mutex* const held = lock.mutex();
    const relock again{*held};
    const auto always = [](detail::wait_queue::state&) { return false; };
    return queue_.wait("condition variable", deadline, always, [held] { held->unlock_behind(); })
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
  ///
  /// \pre The caller holds the lock.
  auto waiting(std::unique_lock<mutex> lock) noexcept { return notified(*this, std::move(lock)); }
  /// wait_until() without a stack, for become(). Its function gets a `std::pair` of the lock, which is held
  /// in either case, and the `std::cv_status`.
  ///
  /// \pre The caller holds the lock.
  auto waiting_until(std::unique_lock<mutex> lock, std::chrono::steady_clock::time_point deadline) noexcept {
    return detail::timed_wait(waiting(std::move(lock)), deadline);
  }

private:
  class notified : public detail::continuation_wait {
  public:
    static constexpr const char* reason = "condition variable";
    SENNIT_OBJECT_AT(notified, queue_)
    notified(condition_variable& of, std::unique_lock<mutex>&& lock) noexcept
        : queue_(&of.queue_), mutex_(lock.mutex()), lock_(std::move(lock)) {
      assert(lock_.owns_lock() && "sennit: waiting without the lock");
    }
    bool file(detail::fiber& f) noexcept { return file(f, f); }
    bool withdraw(detail::fiber& f) noexcept { return leave(f); }
    std::unique_lock<mutex> end(detail::fiber&, std::uintptr_t, detail::fiber_status) { return relocked(); }

    // For timed_wait.
    bool file(detail::fiber& f, detail::waiter& me) noexcept;
    bool leave(detail::waiter& me) noexcept { return queue_->leave(me); }
    auto end_by(detail::time_point, bool in_time) {
      return std::pair(relocked(), in_time ? std::cv_status::no_timeout : std::cv_status::timeout);
    }

  private:
    std::unique_lock<mutex> relocked() {
      mutex_->lock_again();
      return {*mutex_, std::adopt_lock};
    }

    detail::wait_queue* queue_;
    mutex* mutex_;
    std::unique_lock<mutex> lock_;  // until it waits
  };

  struct relock {
    mutex& held;
    SENNIT_INLINE ~relock() { held.lock_again(); }
  };

  void wake_one();

  detail::wait_queue queue_;
  wait_options options_;
};

}  // namespace sennit
