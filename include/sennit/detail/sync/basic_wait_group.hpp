// Wait groups over either wait queue (basic_wait_queue.hpp).
#pragma once

#include <chrono>
#include <cstddef>

#include "sennit/detail/sched/deadline.hpp"
#include "sennit/detail/sync/queue_wait.hpp"

namespace sennit::detail {

template <class Queue>
class basic_wait_group {
public:
  explicit constexpr basic_wait_group(std::size_t count = 0) noexcept : queue_(count) {}

  // More to wait for. Not when the count may come to 0 at the same time and somebody waits.
  void add(std::size_t count = 1) noexcept;
  // Precondition: count is not more than are pending.
  void done(std::size_t count = 1) noexcept;
  void count_down(std::size_t count = 1) noexcept { done(count); }
  // In one step: no waiter is woken before the caller waits, too, or has nothing more to do.
  void arrive_and_wait(std::size_t count = 1);
  bool try_wait() const noexcept { return queue_.peek(std::memory_order_acquire) == 0; }
  std::size_t pending() const noexcept { return queue_.peek(); }

  SENNIT_INLINE void wait() {
    if (!try_wait() && !queue_.wait_inline(until_done::reason, until_done())) [[unlikely]]
      wait_until(never);
  }
  // False: the deadline (steady clock) passed first.
  bool wait_until(std::chrono::steady_clock::time_point deadline);
  // Takes a time of any clock.
  template <class Clock, class Duration>
  bool wait_until(const std::chrono::time_point<Clock, Duration>& time) {
    return wait_by_clock(
        time, [this](std::chrono::steady_clock::time_point deadline) { return wait_until(deadline); });
  }
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> time) {
    return wait_until(deadline_after(time));
  }
  // wait() and wait_until() without a stack: for become(), whose function gets the latter's result.
  auto waiting() noexcept { return queue_wait<Queue, until_done>(queue_); }
  auto waiting_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(waiting(), deadline);
  }

private:
  using state = typename Queue::state;
  struct until_done : queue_rule {
    static constexpr const char* reason = "wait group";
    bool operator()(state& left) const noexcept { return left == 0; }
  };

  Queue queue_;  // the state: how many are pending
};

}  // namespace sennit::detail
