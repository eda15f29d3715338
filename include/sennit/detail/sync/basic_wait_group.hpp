// Wait groups over either policy (basic_wait_queue.hpp).
#pragma once

#include <cstddef>

#include "sennit/detail/sync/queue_wait.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"

namespace sennit::inline v0_1::detail {

/// The members of sennit::wait_group and sennit::local::wait_group.
template <class Policy>
class basic_wait_group {
public:
  /// `count` is the number of tasks to wait for.
  explicit constexpr basic_wait_group(std::size_t count = 0) noexcept : queue_(count) {}

  /// Adds tasks to wait for. Does not block.
  ///
  /// \pre No other fiber or thread waits, or the count cannot reach 0 at the same time.
  void add(std::size_t count = 1) noexcept;
  /// Counts tasks as done. If none is pending any more, waiters resume. Does not block.
  ///
  /// \pre `count` is not larger than the number of pending tasks; debug builds assert it.
  void done(std::size_t count = 1) noexcept;
  /// The name of done() in `std::latch`.
  void count_down(std::size_t count = 1) noexcept { done(count); }
  /// done() and wait() in one step: no waiter wakes before the caller waits too, or has returned.
  void arrive_and_wait(std::size_t count = 1);
  /// \returns whether no task is pending. Does not wait.
  bool try_wait() const noexcept { return queue_.peek(std::memory_order_acquire) == 0; }
  /// \returns the number of tasks that are pending at the moment
  std::size_t pending() const noexcept { return queue_.peek(); }

  /// Waits until no task is pending.
  SENNIT_INLINE void wait() {
    if (!try_wait() && !queue_.wait_inline(until_done::reason, until_done())) [[unlikely]]
      wait_until(never);
  }
  /// Like wait(), but gives up at a deadline.
  ///
  /// \returns false if the deadline passed first
  bool wait_until(std::chrono::steady_clock::time_point deadline);
  /// Like wait(), but gives up at a time of any clock.
  template <class Clock, class Duration>
  bool wait_until(const std::chrono::time_point<Clock, Duration>& time) {
    return wait_by_clock(
        time, [this](std::chrono::steady_clock::time_point deadline) { return wait_until(deadline); });
  }
  /// Like wait(), but gives up after a duration.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> time) {
    return wait_until(deadline_after(time));
  }
  /// wait() without a stack, for become().
  auto waiting() noexcept { return queue_wait<queue, until_done>(queue_); }
  /// wait_until() without a stack, for become(), whose function gets its result.
  auto waiting_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(waiting(), deadline);
  }

private:
  using queue = basic_wait_queue<Policy>;
  using state = typename queue::state;
  struct until_done : queue_rule {
    static constexpr const char* reason = "wait group";
    bool operator()(state& left) const noexcept { return left == 0; }
  };

  queue queue_;  // the state: how many are pending
};

}  // namespace sennit::inline v0_1::detail
