// sennit::mutex: mutual exclusion between fibers, on any worker of any parallel runtime, and OS threads.
// room: sync
//
//   sennit::mutex mutex;
//   std::lock_guard hold(mutex);  // blocks the fiber, not its worker
//
// Source: Dolan 2013, section 5.1 (mutexes).
#pragma once

#include <cassert>
#include <chrono>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/deadline.hpp"
#include "sennit/detail/sync/mutex_word.hpp"
#include "sennit/detail/sync/queue_wait.hpp"
#include "sennit/detail/sync/wait_queue.hpp"
#include "sennit/wait_options.hpp"

namespace sennit {

/// A mutex that blocks only the calling fiber, or the calling OS thread. It meets the std TimedLockable
/// requirements.
///
/// - Order: the mutex is barging by default. A fiber that unlocks it and locks it again without a wait in
///   between can keep others out. With `wait_options{.fairness = fairness::fair}`, and in sennit::local,
///   unlock() passes the mutex to the fiber that has waited longest.
/// - Owner: any fiber or thread may unlock it. A fiber of a local runtime may use it, but blocks its
///   thread.
/// - Not recursive: a fiber that locks it twice without a deadline waits for itself. That ends the program
///   with a message where deadlocks are reported (runtime_options::report_deadlock), even if another fiber
///   would have unlocked it.
/// - Cost: one compare-and-swap to lock it if it is free, and one to unlock it. If it is first locked while
///   a runtime reports deadlocks, reports and dumps name its owner, and it is slower.
/// - Misuse, asserted in debug builds: to unlock a mutex that is not locked, and to destroy one that is
///   locked.
class mutex {
public:
  /// An unlocked, barging mutex.
  constexpr mutex() noexcept = default;
  /// An unlocked mutex with other rules for waiters (wait_options.hpp).
  explicit constexpr mutex(const wait_options& options) noexcept : options_(options) {}
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  /// \pre The mutex is not locked, and no fiber or thread waits for it.
  ~mutex() { assert((queue_.peek() & word::locked) == 0 && "sennit: a locked mutex was destroyed"); }

  /// Locks the mutex; waits while it is locked. Throws sennit::cancelled if a stop_guard ends the wait; the
  /// caller does not hold the mutex then.
  SENNIT_INLINE void lock() {
    if (!word::quick_lock(queue_)) [[unlikely]]
      lock_slow(detail::never);
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
    return detail::wait_by_clock(
        time, [this](std::chrono::steady_clock::time_point deadline) { return try_lock_until(deadline); });
  }
  /// Like lock(), but gives up after a duration.
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> time) {
    return try_lock_until(detail::deadline_after(time));
  }

  /// lock() without a stack, for become(): the fiber resumes with the mutex locked. If another fiber locks
  /// it first after the wake-up, the fiber waits again, also without a stack.
  auto locking() noexcept {
    return detail::queue_wait<detail::wait_queue, until_locked>(queue_, until_locked(*this));
  }
  /// try_lock_until() without a stack, for become(), whose function gets its result.
  auto locking_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return detail::timed_wait(locking(), deadline);
  }

  /// Unlocks the mutex and wakes a waiter if there is one. Does not block, but with wake_policy::enter the
  /// caller yields to the waiter.
  SENNIT_INLINE void unlock() {
    if (!word::quick_unlock(queue_)) [[unlikely]]
      unlock_slow(options_.wake);
  }

private:
  friend class condition_variable;
  using word = detail::mutex_word<detail::wait_queue>;
  struct until_locked : detail::queue_rule {
    static constexpr const char* reason = "mutex";
    explicit until_locked(mutex& wanted) noexcept : of(&wanted) {}
    SENNIT_PLACE_OF(mutex_at, until_locked, of)
    static constexpr std::size_t object_at() noexcept { return mutex_at() + detail::has_owner; }
    mutex* of;
    bool taken = false;
    bool operator()(detail::wait_queue::state& now) noexcept { return taken = word::take(now); }
    bool is_over() noexcept {
      taken = taken || of->options_.fairness == fairness::fair || of->try_lock();
      if (taken)
        of->note_owner();
      return taken;
    }
    bool end(detail::time_point deadline) { return is_over() || (taken = of->try_lock_until(deadline)); }
    void settle(detail::time_point deadline) { end(deadline); }
  };

  /// Called by the owner.
  void note_owner() noexcept {
    if ((queue_.peek() & word::noting) != 0) [[unlikely]]
      owner_.take();
  }

  /// Out of line: a switch that is inlined into a loop that locks would take all registers of that loop,
  /// though it is rarely made.
  bool lock_slow(detail::time_point deadline);
  /// Locks the mutex again for a waiter of a condition variable, whatever happens. A stop, or the end of
  /// the runtime, is reported at its next wait.
  SENNIT_INLINE void lock_again() {
    if (!word::quick_lock(queue_)) [[unlikely]]
      lock_again_slow();
  }
  void lock_again_slow();
  bool try_lock_slow() noexcept;
  void unlock_slow(wake_policy wake);
  // For a fiber that has left its stack.
  void unlock_behind() {
    if (!word::quick_unlock(queue_))
      unlock_slow(wake_policy::queue);
  }

  detail::owner_note owner_;  // first: waits know it by the mutex's address
  wait_options options_;
  detail::wait_queue queue_{word::fresh};
};

}  // namespace sennit
