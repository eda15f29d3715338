// sennit::local::mutex: mutual exclusion between the fibers of one local runtime.
// room: sync
//
//   sennit::local::mutex mutex;
//   std::lock_guard hold(mutex);  // blocks the fiber, not the thread
//
// Source: Dolan 2013, section 5.1 (mutexes).
#pragma once

#include <cassert>
#include <chrono>
#include <cstdint>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/sched/deadline.hpp"
#include "sennit/detail/sched/worker.hpp"
#include "sennit/wait_options.hpp"

namespace sennit::local {

/// Like sennit::mutex, without atomic operations, for the fibers of one local runtime at a time. It meets
/// the std TimedLockable requirements.
///
/// It is fair by default: unlock() hands it to the fiber that has waited longest. No other fiber runs at
/// the same time, so that fairness costs nothing here. It is not recursive: a fiber that locks it twice
/// waits for itself, which ends the program with a message where deadlocks are reported. Misuse, asserted:
/// to unlock a mutex that is not locked, and to destroy one that is locked or waited for.
class mutex {
public:
  /// An unlocked, fair mutex.
  constexpr mutex() noexcept : mutex(wait_options{.fairness = fairness::fair}) {}
  /// An unlocked mutex with other rules for waiters (wait_options.hpp).
  explicit constexpr mutex(const wait_options& options) noexcept : options_(options) {}
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  /// \pre The mutex is not locked, and no fiber waits for it.
  ~mutex() {
    assert(state_ != state::locked && state_ != state::wanted && "sennit: a locked mutex was destroyed");
  }

  /// Locks the mutex; waits while it is locked. Throws sennit::cancelled if a stop_guard ends the wait; the
  /// caller does not hold the mutex then.
  SENNIT_INLINE void lock() {
    if (state_ != state::free) [[unlikely]]
      lock_slow();
    else
      state_ = state::locked;
  }

  /// Locks the mutex if that is possible without a wait, and returns whether it did.
  SENNIT_INLINE bool try_lock() noexcept {
    if (state_ != state::free)
      return try_lock_slow();
    state_ = state::locked;
    return true;
  }

  /// Like lock(), but gives up at a deadline.
  ///
  /// \returns false if the deadline passed first
  bool try_lock_until(std::chrono::steady_clock::time_point deadline) {
    return try_lock() || wait_until(deadline);
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

  /// lock() without a stack, for become(): the fiber resumes with the mutex locked.
  auto locking() noexcept { return until_locked(*this); }
  /// try_lock_until() without a stack, for become(), whose function gets its result.
  auto locking_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return detail::timed_wait(locking(), deadline);
  }

  /// Unlocks the mutex, and wakes a waiter if there is one. Does not block, but with wake_policy::enter the
  /// caller yields to the waiter.
  SENNIT_INLINE void unlock() {
    if (state_ != state::locked) [[unlikely]]
      unlock_slow();
    else
      state_ = state::free;
  }

private:
  friend class condition_variable;
  enum class state : std::uint8_t {
    free,
    locked,
    wanted,  // locked; the fast unlock is not possible: a fiber has waited for it, or it records its owner
    open,    // free; the fast lock is not possible: a fiber still waits, or it records its owner
    fresh    // free; it was never locked
  };

  struct until_locked : detail::continuation_wait {
    static constexpr const char* reason = "mutex";
    SENNIT_PLACE_OF(mutex_at, until_locked, of)
    static constexpr std::size_t object_at() noexcept { return mutex_at() + detail::has_owner; }
    explicit until_locked(mutex& wanted) noexcept : of(&wanted) {}
    bool file(detail::fiber& f) noexcept { return file(f, f); }
    static bool withdraw(detail::fiber&) noexcept { return false; }
    void end(detail::fiber&, std::uintptr_t, detail::fiber_status) { settle(detail::never); }
    bool is_over() noexcept;
    // For timed_wait.
    bool file(detail::fiber& f, detail::waiter& me) noexcept;
    static bool leave(detail::waiter&) noexcept { return true; }  // stop_waiting() has done it
    bool end_by(detail::time_point deadline, bool in_time) {
      if (in_time)
        settle(deadline);
      return in_time && taken;
    }
    void settle(detail::time_point deadline) { taken = is_over() || of->try_lock_until(deadline); }
    mutex* of;
    bool taken = false;
  };

  bool takes_notes() const noexcept { return owner_.id != 0; }
  bool is_fair() const noexcept { return options_.fairness == fairness::fair; }

  /// Out of line: a switch that is inlined into a loop that locks would take all registers of that loop,
  /// though it is rarely made.
  void lock_slow();
  bool try_lock_slow() noexcept;
  /// Locks the mutex again for a waiter of a condition variable, whatever happens. A stop, or the end of
  /// the runtime, is reported at its next wait.
  SENNIT_INLINE void lock_again() {
    if (state_ != state::free) [[unlikely]]
      wait_again();
    else
      state_ = state::locked;
  }
  void wait_again();
  bool wait_until(detail::time_point deadline);
  void unlock_slow();

  detail::owner_note owner_;  // first: waits know it by the mutex's address
  state state_ = state::fresh;
  wait_options options_;
  detail::waiter_list waiters_;
};

}  // namespace sennit::local
