// Recursive mutexes over a mutex of either kind.
#pragma once

#include <atomic>
#include <cassert>
#include <concepts>
#include <cstddef>

#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"
#include "sennit/detail/wait/wait.hpp"
#include "sennit/wait_options.hpp"

namespace sennit::inline v0_1::detail {

/// The members of sennit::recursive_mutex and sennit::local::recursive_mutex.
template <class Mutex>
class basic_recursive_mutex {
public:
  /// An unlocked mutex.
  constexpr basic_recursive_mutex() noexcept = default;
  /// An unlocked mutex with other rules for waiters (wait_options.hpp).
  explicit constexpr basic_recursive_mutex(const wait_options& options) noexcept
    requires std::constructible_from<Mutex, const wait_options&>
      : mutex_(options) {}

  /// Locks the mutex once more; waits while it has another owner.
  void lock() {
    if (!lock_again()) {
      mutex_.lock();
      own();
    }
  }
  /// Locks the mutex once more if that is possible without a wait, and returns whether it did.
  bool try_lock() noexcept { return lock_again() || (mutex_.try_lock() && own()); }
  /// Like lock(), but gives up at a deadline.
  ///
  /// \returns false if the deadline passed first
  bool try_lock_until(std::chrono::steady_clock::time_point deadline) {
    return lock_again() || (mutex_.try_lock_until(deadline) && own());
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

  /// Gives up one of the caller's locks; the last one unlocks the mutex. Does not block.
  ///
  /// \pre The caller is the owner.
  void unlock() {
    assert(is_mine() && "sennit: unlock of a recursive mutex by another than its owner");
    if (--depth_ == 0) {
      owner_.store(nullptr, std::memory_order_relaxed);
      mutex_.unlock();
    }
  }

private:
  /// Only the caller itself can have written its own name, so that no order is needed to read it. (Where
  /// all are on one thread the atomic costs nothing: it is read and written like any other variable.)
  bool is_mine() const noexcept { return owner_.load(std::memory_order_relaxed) == caller(); }
  bool lock_again() noexcept {
    const bool mine = is_mine();
    if (mine)
      ++depth_;
    return mine;
  }
  bool own() noexcept {
    owner_.store(caller(), std::memory_order_relaxed);
    depth_ = 1;
    return true;
  }

  Mutex mutex_;
  std::atomic<const void*> owner_{nullptr};
  std::size_t depth_ = 0;  // the owner's
};

}  // namespace sennit::inline v0_1::detail
