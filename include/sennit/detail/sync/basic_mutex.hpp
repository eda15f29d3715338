// Mutexes over either policy (basic_wait_queue.hpp).
#pragma once

#include <cassert>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sync/lock_header.hpp"
#include "sennit/detail/sync/mutex_word.hpp"
#include "sennit/detail/sync/queue_wait.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"
#include "sennit/wait_options.hpp"

namespace sennit::inline v0_1::detail {

/// The members of sennit::mutex and sennit::local::mutex. They meet the std TimedLockable requirements.
template <class Policy>
class basic_mutex {
  using queue = basic_wait_queue<Policy, typename Policy::lock_waiters>;
  using word = mutex_word<queue>;

public:
  /// Decides which fibers and threads may wait for it.
  using policy = Policy;

  /// An unlocked mutex with the usual rules for waiters: sennit::mutex is barging, and sennit::local::mutex
  /// is fair.
  constexpr basic_mutex() noexcept : basic_mutex(Policy::for_mutex) {}
  /// An unlocked mutex with other rules for waiters (wait_options.hpp).
  explicit constexpr basic_mutex(const wait_options& options) noexcept : queue_(options, word::fresh) {}
  basic_mutex(const basic_mutex&) = delete;
  basic_mutex& operator=(const basic_mutex&) = delete;
  /// \pre The mutex is not locked, and no fiber or thread waits for it.
  ~basic_mutex() { assert((queue_.peek() & word::locked) == 0 && "sennit: a locked mutex was destroyed"); }

  /// Locks the mutex; waits while it is locked. Throws sennit::cancelled if a stop_guard ends the wait; the
  /// caller does not hold the mutex then.
  SENNIT_INLINE void lock() {
    if (!word::quick_lock(queue_)) [[unlikely]]
      lock_slow(never);
  }
  /// Locks the mutex if that is possible without a wait. Returns whether it did. Any thread.
  SENNIT_INLINE bool try_lock() noexcept { return word::quick_lock(queue_) || try_lock_slow(); }
  /// Like lock(), but gives up at a deadline.
  ///
  /// \returns false if the deadline passed first
  bool try_lock_until(std::chrono::steady_clock::time_point deadline) {
    return try_lock() || lock_slow(deadline);
  }
  /// Like lock(), but gives up at a time of any clock.
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& time) {
    return wait_by_clock(
        time, [this](std::chrono::steady_clock::time_point deadline) { return try_lock_until(deadline); });
  }
  /// Like lock(), but gives up after a duration.
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> time) {
    return try_lock_until(deadline_after(time));
  }

  /// lock() without a stack, for become(): the fiber resumes with the mutex locked. If another fiber locks
  /// it first after the wake-up, the fiber waits again, also without a stack.
  auto locking() noexcept { return queue_wait<queue, until_locked>(queue_, until_locked(*this)); }
  /// try_lock_until() without a stack, for become(), whose function gets its result.
  auto locking_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(locking(), deadline);
  }

  /// Unlocks the mutex and wakes a waiter if there is one. Does not block, but with wake_policy::enter the
  /// caller yields to the waiter.
  SENNIT_INLINE void unlock() {
    if (!word::quick_unlock(queue_)) [[unlikely]]
      unlock_slow(options().enter());
  }

private:
  template <class>
  friend class basic_condition_variable;
  friend struct word_access;  // capi's
  struct until_locked : queue_rule {
    static constexpr const char* reason = "mutex";
    explicit until_locked(basic_mutex& wanted) noexcept : of(&wanted) {}
    SENNIT_PLACE_OF(mutex_at, until_locked, of)
    static constexpr std::size_t object_at() noexcept { return mutex_at() + has_owner; }
    basic_mutex* of;
    bool taken = false;
    bool operator()(typename queue::state& now) noexcept { return taken = word::take(now); }
    bool is_over() noexcept {
      taken = taken || of->options().fair() || of->try_lock();
      if (taken)
        of->note_owner();
      return taken;
    }
    bool end(time_point deadline) { return is_over() || (taken = of->try_lock_until(deadline)); }
    void settle(time_point deadline) { end(deadline); }
  };

  /// Called by the owner.
  void note_owner() noexcept {
    if ((queue_.peek() & word::noting) != 0) [[unlikely]]
      queue_.waiters().owner.take();
  }

  /// Out of line: a switch that is inlined into a loop that locks would take all registers of that loop,
  /// though it is rarely made.
  bool lock_slow(time_point deadline);
  /// Locks the mutex again for a waiter of a condition variable, whatever happens. A stop, or the end of
  /// the runtime, is reported at its next wait.
  SENNIT_INLINE void lock_again() {
    if (!word::quick_lock(queue_)) [[unlikely]]
      lock_again_slow();
  }
  void lock_again_slow();
  bool try_lock_slow() noexcept;
  void unlock_slow(bool enter);
  // For a fiber that has left its stack.
  void unlock_behind() {
    if (!word::quick_unlock(queue_))
      unlock_slow(false);
  }

  lock_options options() const noexcept { return queue_.waiters().options; }

  queue queue_;
};

}  // namespace sennit::inline v0_1::detail
