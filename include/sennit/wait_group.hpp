// sennit::wait_group: waits until some number of things are done.
// room: sync
//
//   sennit::wait_group pending(3);
//   for (int i = 0; i < 3; ++i)
//     sennit::spawn([&] { work(); pending.done(); }).detach();
//   pending.wait();
//
// It is std::latch, too: that has all but add(), wait_for() and wait_until().
#pragma once

#include <cassert>
#include <chrono>
#include <cstddef>

#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit {

// When the count has come to 0, all who wait go on, and who waits later does not wait. Who waits may destroy
// it after its wait.
class wait_group {
public:
  explicit constexpr wait_group(std::size_t count = 0) noexcept : queue_(count) {}

  // More to wait for. Not when the count may come to 0 at the same time and somebody waits.
  void add(std::size_t count = 1) noexcept;
  // Precondition: count is not more than are pending.
  void done(std::size_t count = 1) noexcept;
  void count_down(std::size_t count = 1) noexcept { done(count); }
  void arrive_and_wait(std::size_t count = 1) {
    done(count);
    wait();
  }
  bool try_wait() const noexcept { return queue_.peek(std::memory_order_acquire) == 0; }
  std::size_t pending() const noexcept { return queue_.peek(); }

  void wait() { wait_until(detail::never); }
  // False: the deadline (steady clock) passed first.
  bool wait_until(std::chrono::steady_clock::time_point deadline);
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> time) {
    return wait_until(std::chrono::steady_clock::now() + time);
  }

private:
  detail::wait_queue queue_;  // the state: how many are pending
};

using latch = wait_group;

}  // namespace sennit
