// Counting semaphores over either policy (basic_wait_queue.hpp).
#pragma once

#include <cassert>
#include <cstddef>

#include "sennit/detail/sync/queue_wait.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"

namespace sennit::inline v0_1::detail {

/// The members of sennit::counting_semaphore and sennit::local::counting_semaphore.
template <class Policy>
class basic_counting_semaphore {
  using queue = basic_wait_queue<Policy, typename Policy::semaphore_waiters>;
  using state = typename queue::state;

public:
  /// `permits` is the number of permits at the beginning, at most max() (asserted).
  explicit constexpr basic_counting_semaphore(std::size_t permits) noexcept : queue_(permits) {
    assert(permits <= max() && "sennit: more permits than a semaphore can count");
  }
  /// \returns the maximum number of permits
  static constexpr std::size_t max() noexcept { return ~std::size_t{0} >> 3; }

  /// Waits for a permit, and takes it.
  SENNIT_INLINE void acquire() {
    const state now = queue_.peek();
    if ((now == 0 || !queue_.change_quickly(now, now - 1, std::memory_order_acquire)) &&
        !queue_.wait_inline(until_acquired::reason, until_acquired())) [[unlikely]]
      try_acquire_until(never);
  }
  /// Takes a permit if there is one, and returns whether it did. Does not wait.
  bool try_acquire() noexcept;
  /// Like acquire(), but gives up at a deadline.
  ///
  /// \returns false if the deadline passed first; no permit is consumed
  bool try_acquire_until(std::chrono::steady_clock::time_point deadline);
  /// Like acquire(), but gives up at a time of any clock.
  template <class Clock, class Duration>
  bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& time) {
    return wait_by_clock(
        time, [this](std::chrono::steady_clock::time_point deadline) { return try_acquire_until(deadline); });
  }
  /// Like acquire(), but gives up after a duration.
  template <class Rep, class Period>
  bool try_acquire_for(std::chrono::duration<Rep, Period> time) {
    return try_acquire_until(deadline_after(time));
  }

  /// acquire() without a stack, for become().
  auto acquiring() noexcept { return queue_wait<queue, until_acquired>(queue_); }
  /// try_acquire_until() without a stack, for become(), whose function gets its result.
  auto acquiring_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(acquiring(), deadline);
  }

  /// Adds permits, and wakes as many waiters. The caller need not have acquired any. Does not block.
  ///
  /// \pre There are at most max() permits afterwards.
  void release(std::size_t permits = 1);

private:
  friend struct word_access;  // capi's
  struct until_acquired : queue_rule {
    static constexpr const char* reason = "semaphore";
    bool operator()(state& left) const noexcept {
      if (left == 0)
        return false;
      --left;
      return true;
    }
  };

  queue queue_;  // the state: how many permits are left
};

}  // namespace sennit::inline v0_1::detail
