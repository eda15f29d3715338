// The state of a wait queue and the list of its waiters, separately, under a spin lock. The seed's authors
// used this where they had not ported their queue. Here it serves for comparison, and to check
// low_lock_waiters.hpp: if SENNIT_SPIN_WAIT_QUEUE is defined, wait_queue uses this instead.
//
// Every access takes the lock, reads included. A reader that sees the new state may destroy the object, so it
// must not see that state before the writer has released the lock.
//
// Source: Dolan 2013, section 6.2 ("we replaced our optimized queue with a simple spin-lock protected
// queue").
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/sched/fiber.hpp"

namespace sennit::detail {

// Used as described in basic_wait_queue.hpp.
class spin_waiters {
public:
  using state = std::uintptr_t;

  constexpr spin_waiters() noexcept = default;
  explicit constexpr spin_waiters(state initial) noexcept : state_(initial) {}

  bool change(state from, state to, std::memory_order) noexcept {
    const std::lock_guard hold(lock_);
    const bool may = state_ == from && list_.empty();
    if (may)
      state_ = to;
    return may;
  }
  state peek(std::memory_order) const noexcept {
    const std::lock_guard hold(lock_);
    return state_;
  }
  bool quiet() const noexcept {
    const std::lock_guard hold(lock_);
    return list_.empty();
  }

  state lock() noexcept {
    lock_.lock();
    return state_;
  }
  void unlock(state now) noexcept {
    state_ = now;
    lock_.unlock();
  }
  waiter_list& list() noexcept { return list_; }

private:
  mutable spin_lock lock_;
  state state_ = 0;
  waiter_list list_;
};

}  // namespace sennit::detail
