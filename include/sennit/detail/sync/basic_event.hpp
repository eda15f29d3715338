// Events over either wait queue (basic_wait_queue.hpp).
#pragma once

#include <chrono>

#include "sennit/detail/sync/basic_wait_queue.hpp"

namespace sennit::detail {

template <class Queue>
class basic_event {
public:
  constexpr basic_event() noexcept = default;

  bool is_set() const noexcept { return queue_.peek(std::memory_order_acquire) == happened; }
  void wait() { wait_until(never); }
  // False: the deadline (steady clock) passed first.
  bool wait_until(std::chrono::steady_clock::time_point deadline);
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> time) {
    return wait_until(std::chrono::steady_clock::now() + time);
  }

  void set() noexcept { queue_.wake_all(happened); }
  void reset() noexcept { typename Queue::guard(queue_).set(0); }

private:
  using state = typename Queue::state;
  static constexpr state happened = 1;
  Queue queue_;
};

}  // namespace sennit::detail
