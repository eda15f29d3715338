// Events over either policy (basic_wait_queue.hpp).
#pragma once

#include "sennit/detail/sync/queue_wait.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"

namespace sennit::inline v0_1::detail {

/// The members of sennit::event and sennit::local::event.
template <class Policy>
class basic_event {
public:
  /// An event that is not set.
  constexpr basic_event() noexcept = default;

  /// \returns whether the event is set. Does not wait.
  bool is_set() const noexcept { return queue_.peek(std::memory_order_acquire) == happened; }
  /// Waits until the event is set. Returns at once if it is.
  SENNIT_INLINE void wait() {
    if (!is_set() && !queue_.wait_inline(until_set::reason, until_set())) [[unlikely]]
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
  auto waiting() noexcept { return queue_wait<queue, until_set>(queue_); }
  /// wait_until() without a stack, for become(), whose function gets its result.
  auto waiting_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(waiting(), deadline);
  }

  /// Sets the event: all waiters resume. Does not block. May be called again.
  void set() noexcept { queue_.wake_all(happened); }
  /// Resets the event: later waits wait for the next set(). Does not block.
  void reset() noexcept { typename queue::guard(queue_).set(0); }

private:
  using queue = basic_wait_queue<Policy>;
  using state = typename queue::state;
  static constexpr state happened = 1;
  struct until_set : queue_rule {
    static constexpr const char* reason = "event";
    bool operator()(state& now) const noexcept { return now == happened; }
  };
  queue queue_;
};

}  // namespace sennit::inline v0_1::detail
