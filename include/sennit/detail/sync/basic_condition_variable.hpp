// Condition variables over either policy (basic_wait_queue.hpp).
#pragma once

#include <cassert>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/sync/basic_wait_queue.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"
#include "sennit/wait_options.hpp"

namespace sennit::inline v0_1::detail {

/// The members of sennit::condition_variable and sennit::local::condition_variable, which wait with a
/// `Mutex`, sennit::mutex or sennit::local::mutex.
///
/// There are no spurious wake-ups, but another fiber may lock the mutex before the waiter does: use a
/// predicate. A wait throws sennit::cancelled if a stop_guard ends it. The mutex is locked again after each
/// wait, also if an exception leaves it.
template <class Mutex>
class basic_condition_variable {
  using policy = typename Mutex::policy;
  using queue = basic_wait_queue<policy, typename policy::lock_waiters>;
  using state = typename queue::state;

public:
  /// Wakes waiters in the order in which they came.
  constexpr basic_condition_variable() noexcept : basic_condition_variable(wait_options()) {}
  /// Wakes waiters by other rules (wait_options.hpp). `fairness` has no effect: it is the mutex's.
  explicit constexpr basic_condition_variable(const wait_options& options) noexcept : queue_(options) {}
  basic_condition_variable(const basic_condition_variable&) = delete;
  basic_condition_variable& operator=(const basic_condition_variable&) = delete;

  /// Wakes one waiter, if there is one. Does not block, but with wake_policy::enter the caller yields to
  /// the waiter. Any thread, with or without the mutex locked.
  SENNIT_INLINE void notify_one() {
    if (queue_.quiet())
      return;
    // Inline only where a wake is a few instructions.
    if constexpr (policy::is_shared)
      return wake_one();
    if (!queue_.waiters().options.usual_order()) [[unlikely]]
      return wake_one();
    fiber* who = nullptr;
    typename queue::guard(queue_).pop(0, who);
    policy::make_ready(who);
  }
  /// Wakes all waiters. Does not block. Any thread, with or without the mutex locked.
  void notify_all() {
    if (!queue_.quiet())
      queue_.wake_all(0);
  }

  /// Unlocks the mutex, waits for a notification, and locks the mutex again.
  ///
  /// \pre The caller holds the lock.
  SENNIT_INLINE void wait(std::unique_lock<Mutex>& lock) { wait_until(lock, never); }
  /// Waits until the predicate is true. It is called with the mutex locked.
  ///
  /// \pre The caller holds the lock.
  template <class Predicate>
  SENNIT_INLINE void wait(std::unique_lock<Mutex>& lock, Predicate done) {
    while (!done())
      wait(lock);
  }

  /// Like wait(), but gives up at a deadline.
  SENNIT_INLINE std::cv_status wait_until(std::unique_lock<Mutex>& lock,
                                          std::chrono::steady_clock::time_point deadline) {
    assert(lock.owns_lock() && "sennit: waiting without the lock");
    Mutex* const held = lock.mutex();
    const relock again{*held};
    const auto always = [](state&) { return false; };
    return queue_.wait("condition variable", deadline, always, [held] { held->unlock_behind(); })
               ? std::cv_status::no_timeout
               : std::cv_status::timeout;
  }
  /// Like wait() with a predicate, but gives up at a deadline. Returns the predicate's last value.
  template <class Predicate>
  bool wait_until(std::unique_lock<Mutex>& lock, std::chrono::steady_clock::time_point deadline,
                  Predicate done) {
    while (!done())
      if (wait_until(lock, deadline) == std::cv_status::timeout)
        return done();
    return true;
  }
  /// Like wait(), but gives up at a time of any clock. If that clock is set back during the wait, it may
  /// return no_timeout without a notification.
  template <class Clock, class Duration>
  std::cv_status wait_until(std::unique_lock<Mutex>& lock,
                            const std::chrono::time_point<Clock, Duration>& time) {
    const std::cv_status result = wait_until(lock, deadline_after(time_until(time)));
    return time_until(time) > std::chrono::nanoseconds::zero() ? std::cv_status::no_timeout : result;
  }
  /// Like wait() with a predicate, but gives up at a time of any clock. Returns the predicate's last value.
  template <class Clock, class Duration, class Predicate>
  bool wait_until(std::unique_lock<Mutex>& lock, const std::chrono::time_point<Clock, Duration>& time,
                  Predicate done) {
    while (!done())
      if (wait_until(lock, time) == std::cv_status::timeout)
        return done();
    return true;
  }
  /// Like wait(), with or without a predicate, but gives up after a duration. Returns what wait_until()
  /// returns.
  template <class Rep, class Period, class... Predicate>
  auto wait_for(std::unique_lock<Mutex>& lock, std::chrono::duration<Rep, Period> time, Predicate... done) {
    return wait_until(lock, deadline_after(time), std::move(done)...);
  }

  /// wait() without a stack, for become(), whose function gets the lock, which is held.
  ///
  /// \pre The caller holds the lock.
  auto waiting(std::unique_lock<Mutex> lock) noexcept { return notified(*this, std::move(lock)); }
  /// wait_until() without a stack, for become(). Its function gets a `std::pair` of the lock, which is held
  /// in either case, and the `std::cv_status`.
  ///
  /// \pre The caller holds the lock.
  auto waiting_until(std::unique_lock<Mutex> lock, std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(waiting(std::move(lock)), deadline);
  }

private:
  friend struct word_access;  // capi's
  class notified : public continuation_wait {
  public:
    static constexpr const char* reason = "condition variable";
    SENNIT_OBJECT_AT(notified, queue_)
    notified(basic_condition_variable& of, std::unique_lock<Mutex>&& lock) noexcept
        : queue_(&of.queue_), mutex_(lock.mutex()), lock_(std::move(lock)) {
      assert(lock_.owns_lock() && "sennit: waiting without the lock");
    }
    bool file(fiber& f) noexcept { return file(f, f); }
    bool withdraw(fiber& f) noexcept { return leave(f); }
    std::unique_lock<Mutex> end(fiber&, std::uintptr_t, fiber_status) { return relocked(); }

    // For timed_wait.
    bool file(fiber& f, waiter& me) noexcept;
    bool leave(waiter& me) noexcept { return queue_->leave(me); }
    auto end_by(time_point, bool in_time) {
      return std::pair(relocked(), in_time ? std::cv_status::no_timeout : std::cv_status::timeout);
    }

  private:
    std::unique_lock<Mutex> relocked() {
      mutex_->lock_again();
      return {*mutex_, std::adopt_lock};
    }

    queue* queue_;
    Mutex* mutex_;
    std::unique_lock<Mutex> lock_;  // until it waits
  };

  struct relock {
    Mutex& held;
    SENNIT_INLINE ~relock() { held.lock_again(); }
  };

  void wake_one();

  queue queue_;
};

}  // namespace sennit::inline v0_1::detail
