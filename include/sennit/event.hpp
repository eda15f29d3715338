// sennit::event: something that has happened, or not yet.
// room: sync
//
//   sennit::event ready;
//   ready.wait();  // in any number of fibers and OS threads
//   ready.set();   // in one: all go on
#pragma once

#include <chrono>

#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit {

// Once set it stays so until it is reset. Who waits may destroy it after its wait.
class event {
public:
  constexpr event() noexcept = default;

  bool is_set() const noexcept { return queue_.peek(std::memory_order_acquire) == happened; }
  void wait() { wait_until(detail::never); }
  // False: the deadline (steady clock) passed first.
  bool wait_until(std::chrono::steady_clock::time_point deadline);
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> time) {
    return wait_until(std::chrono::steady_clock::now() + time);
  }

  void set() noexcept { queue_.wake_all(happened); }
  void reset() noexcept { detail::wait_queue::guard(queue_).set(0); }

private:
  static constexpr detail::wait_queue::state happened = 1;
  detail::wait_queue queue_;
};

}  // namespace sennit
