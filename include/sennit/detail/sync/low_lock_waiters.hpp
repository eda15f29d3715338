// The state of a wait queue, the list of its waiters and a lock. One word holds all that the fast paths need,
// so an uncontended acquire or release is one compare-and-swap:
//
//   bit 0       the queue is locked       set by compare-and-swap, cleared by the store that unlocks
//   bit 1       there are waiters         under the lock
//   bits 2...   the object's state        by compare-and-swap while bits 0 and 1 are clear, or under the lock
//
// All other operations use the lock: one read-modify-write acquires it, and the store that releases it also
// publishes the new state. That store is the last access to the object. Waiters are made ready after it,
// because a woken waiter may destroy the object.
//
// Rejected, with the time of a push and a pop relative to this queue, by 1 thread and by 2 that contend
// (`./run bench queues`; docs/papers/swapstack_2013.md has the table):
//
//   the seed's queue, without a lock      1.0 to 1.5   1.3 to 1.6   a pop reads waiters that may be freed
//   Michael and Scott's lock-free queue   1.5          1.7 to 1.9   keeps a waiter after it was taken
//   their queue with two locks            0.93         1.2 to 1.7   keeps a waiter after it was taken
//   a list under a spin lock              0.93         1.2 to 1.3   an uncontended acquire also stores
//
// The first three also have no way for a waiter to leave from the middle, as deadlines and stops need.
//
// Source: Dolan 2013, section 6.1 (the state and the queue in one word).
#pragma once

#include <atomic>
#include <cstdint>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/native_memory.hpp"
#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/sched/fiber.hpp"

namespace sennit::inline v0_1::detail {

// Used as described in basic_wait_queue.hpp.
template <class Memory = native_memory>
class basic_low_lock_waiters {
public:
  using state = std::uintptr_t;

  constexpr basic_low_lock_waiters() noexcept : basic_low_lock_waiters(0) {}
  explicit constexpr basic_low_lock_waiters(state initial) noexcept : word_(initial << state_shift) {}

  SENNIT_INLINE bool change_quickly(state from, state to, std::memory_order order) noexcept {
    return change(from, to, order);
  }
  SENNIT_INLINE bool change(state from, state to, std::memory_order order) noexcept {
    std::uintptr_t expected = from << state_shift;
    return word_.compare_exchange_strong(expected, to << state_shift, order, std::memory_order_relaxed);
  }
  state peek(std::memory_order order) const noexcept { return word_.load(order) >> state_shift; }
  bool quiet() const noexcept { return (word_.load(std::memory_order_relaxed) & (locked | waited_for)) == 0; }

  SENNIT_INLINE state lock() noexcept {
    std::uintptr_t seen = word_.load(std::memory_order_relaxed);
    if ((seen & locked) != 0 || !word_.compare_exchange_strong(seen, seen | locked, std::memory_order_acquire,
                                                               std::memory_order_relaxed)) [[unlikely]]
      seen = lock_slow();
    return seen >> state_shift;
  }
  SENNIT_INLINE void unlock(state now, bool) noexcept {
    const std::uintptr_t waited = list_.empty() ? 0 : waited_for;
    word_.store((now << state_shift) | waited, std::memory_order_release);
  }
  waiter_list& list() noexcept { return list_; }
  void push(waiter& w) noexcept { list_push_back(list_, w); }

  // ---- For the only caller, by another rule (biased_waiters.hpp): without the bit `locked`.
  SENNIT_INLINE bool change_as_only(state from, state to) noexcept {
    if (word_.load(std::memory_order_relaxed) != from << state_shift) [[unlikely]]
      return false;
    word_.store(to << state_shift, std::memory_order_release);
    return true;
  }
  state lock_as_only() const noexcept { return peek(std::memory_order_relaxed); }
  SENNIT_INLINE void unlock_as_only(state now) noexcept { unlock(now, true); }

private:
  static constexpr unsigned state_shift = 2;
  static constexpr std::uintptr_t locked = 1;
  static constexpr std::uintptr_t waited_for = 2;

  [[gnu::noinline]] std::uintptr_t lock_slow() noexcept {
    std::uintptr_t seen = word_.load(std::memory_order_relaxed);
    for (lock_pause<Memory> pause;;) {
      if ((seen & locked) != 0) {
        pause();
        seen = word_.load(std::memory_order_relaxed);
      } else if (word_.compare_exchange_weak(seen, seen | locked, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
        return seen;
      }
    }
  }

  typename Memory::template atomic<std::uintptr_t> word_;
  waiter_list list_;
};

using low_lock_waiters = basic_low_lock_waiters<>;

}  // namespace sennit::inline v0_1::detail
