// The state of a wait queue and the list of those who wait, each by itself, under a spin lock: what the
// seed's authors put in the place of their queue where they had not ported it. For comparison, and for those
// who doubt the word of low_lock_waiters.hpp: with SENNIT_SPIN_WAIT_QUEUE defined, wait_queue has this
// instead.
//
// Every access takes the lock, the reading ones too: who sees the new state may destroy the object, and must
// not see it before whoever changed it has let the lock go.
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

// Used as basic_wait_queue.hpp says.
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
