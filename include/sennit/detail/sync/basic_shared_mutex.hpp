// Shared mutexes over either policy (basic_wait_queue.hpp).
#pragma once

#include <cassert>

#include "sennit/detail/sync/queue_wait.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"

namespace sennit::inline v0_1::detail {

/// The members of sennit::shared_mutex and sennit::local::shared_mutex.
template <class Policy>
class basic_shared_mutex {
  // The sum of the holders' shares. A waiter's word holds the share that it wants.
  using queue = basic_wait_queue<Policy>;
  using state = typename queue::state;
  static constexpr state unlocked = 0;
  static constexpr state exclusive = 2;
  static constexpr state one_reader = 4;

public:
  /// An unlocked mutex.
  constexpr basic_shared_mutex() noexcept = default;
  basic_shared_mutex(const basic_shared_mutex&) = delete;
  basic_shared_mutex& operator=(const basic_shared_mutex&) = delete;
  /// \pre The mutex is not locked, and no fiber or thread waits for it.
  ~basic_shared_mutex() {
    assert(queue_.peek() == unlocked && "sennit: a locked shared mutex was destroyed");
  }

  /// Locks the mutex exclusively; waits while it is locked in any way.
  void lock() {
    if (!queue_.change(unlocked, exclusive, std::memory_order_acquire))
      lock_slow(exclusive, never);
  }
  /// Locks the mutex exclusively if that is possible without a wait, and returns whether it did.
  bool try_lock() noexcept {
    return queue_.change(unlocked, exclusive, std::memory_order_acquire) || try_lock_slow(exclusive);
  }
  /// Like lock(), but gives up at a deadline.
  ///
  /// \returns false if the deadline passed first
  bool try_lock_until(std::chrono::steady_clock::time_point deadline) {
    return queue_.change(unlocked, exclusive, std::memory_order_acquire) || lock_slow(exclusive, deadline);
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
  /// Unlocks the mutex, which is locked exclusively, and hands it to waiters. Does not block.
  void unlock() {
    if (!queue_.change(exclusive, unlocked, std::memory_order_release))
      unlock_slow(exclusive);
  }

  /// Locks the mutex together with other readers; waits while it is locked exclusively or another fiber or
  /// thread waits.
  void lock_shared() {
    if (!quickly_share())
      lock_slow(one_reader, never);
  }
  /// Locks the mutex together with other readers if that is possible without a wait, and returns whether it
  /// did. Returns false also if a writer waits.
  bool try_lock_shared() noexcept { return quickly_share() || try_lock_slow(one_reader); }
  /// Like lock_shared(), but gives up at a deadline.
  ///
  /// \returns false if the deadline passed first
  bool try_lock_shared_until(std::chrono::steady_clock::time_point deadline) {
    return quickly_share() || lock_slow(one_reader, deadline);
  }
  /// Like lock_shared(), but gives up at a time of any clock.
  template <class Clock, class Duration>
  bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& time) {
    return wait_by_clock(time, [this](std::chrono::steady_clock::time_point deadline) {
      return try_lock_shared_until(deadline);
    });
  }
  /// Like lock_shared(), but gives up after a duration.
  template <class Rep, class Period>
  bool try_lock_shared_for(std::chrono::duration<Rep, Period> time) {
    return try_lock_shared_until(deadline_after(time));
  }
  /// Gives up one reader's lock. The last one hands the mutex to waiters. Does not block.
  void unlock_shared() {
    while (queue_.quiet()) {
      const state now = queue_.peek();
      assert(now >= one_reader && "sennit: unlock_shared of a shared mutex that is not locked shared");
      if (queue_.change(now, now - one_reader, std::memory_order_release))
        return;
    }
    unlock_slow(one_reader);
  }

  /// lock() without a stack, for become(): the fiber resumes with the mutex locked exclusively.
  auto locking() noexcept { return lock_wait<exclusive>(queue_, until_locked<exclusive>(*this)); }
  /// try_lock_until() without a stack, for become(), whose function gets its result.
  auto locking_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(locking(), deadline);
  }
  /// lock_shared() without a stack, for become(): the fiber resumes with the mutex locked together with
  /// other readers.
  auto locking_shared() noexcept { return lock_wait<one_reader>(queue_, until_locked<one_reader>(*this)); }
  /// try_lock_shared_until() without a stack, for become(), whose function gets its result.
  auto locking_shared_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(locking_shared(), deadline);
  }

private:
  using guard = typename queue::guard;
  static constexpr const char* reason_of(state wanted) noexcept {
    return wanted == exclusive ? "shared mutex, to write" : "shared mutex, to read";
  }
  template <state wanted>
  struct until_locked : queue_rule {
    static constexpr const char* reason = reason_of(wanted);
    explicit until_locked(basic_shared_mutex& mutex) noexcept : of(&mutex) {}
    basic_shared_mutex* of;
    bool operator()(guard& hold, waiter& me) const noexcept { return enters(hold, me, wanted); }
    void gave_up() const noexcept { of->gave_up(); }
  };
  template <state wanted>
  using lock_wait = queue_wait<queue, until_locked<wanted>>;

  static bool admits(state now, state wanted) noexcept {
    return now == unlocked || (wanted == one_reader && now != exclusive);
  }
  /// The predicate of a wait queue. Returns whether the waiter has locked the mutex; otherwise it waits.
  static bool enters(guard& hold, waiter& me, state wanted) noexcept {
    me.word = wanted;
    const bool may = hold.empty() && admits(hold.get(), wanted);
    if (may)
      hold.set(hold.get() + wanted);
    return may;
  }
  bool quickly_share() noexcept {
    for (state now = queue_.peek(); now != exclusive && queue_.quiet(); now = queue_.peek())
      if (queue_.change(now, now + one_reader, std::memory_order_acquire))
        return true;
    return false;
  }

  bool try_lock_slow(state wanted) noexcept;
  bool lock_slow(state wanted, time_point deadline);
  void unlock_slow(state held);
  void gave_up() noexcept;
  void let_in(guard& hold) noexcept;

  queue queue_;
};

}  // namespace sennit::inline v0_1::detail
