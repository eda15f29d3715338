// The part of a mutex that is its wait queue's state. A template on the queue, so that the model checker runs
// it.
#pragma once

#include <atomic>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/fiber.hpp"

namespace sennit::inline v0_1::detail {

template <class Queue>
struct mutex_word {
  using state = typename Queue::state;
  // The fast paths know two states: unlocked, and locked without other bits.
  static constexpr state unlocked = 0;
  static constexpr state locked = 1;
  static constexpr state noting = 2;  // never cleared: each owner writes a lock_owner
  static constexpr state fresh = 4;   // it was never locked

  // The fast paths.
  SENNIT_INLINE static bool quick_lock(Queue& queue) noexcept {
    return queue.change_quickly(unlocked, locked, std::memory_order_acquire);
  }
  SENNIT_INLINE static bool quick_unlock(Queue& queue) noexcept {
    return queue.change_quickly(locked, unlocked, std::memory_order_release);
  }

  // Under the queue's lock. Returns false if the mutex is not free.
  static bool take(state& now) noexcept {
    if ((now & locked) != 0)
      return false;
    if (now == fresh)
      now = lock_owner::wanted.load(std::memory_order_relaxed) != 0 ? noting : unlocked;
    now |= locked;
    return true;
  }

  // Waits by `wait(decide)`, which is like the queue's wait. Returns false if the deadline passed first.
  template <class Wait>
  static bool wait_until_taken(bool fair, Wait wait) {
    for (bool taken = false;;) {
      const bool woken = wait([&taken](state& now) { return taken = take(now); });
      if (taken || (woken && fair))  // a fair mutex was handed to the woken waiter
        return true;
      if (!woken)
        return false;
    }
  }

  // Unlocks the mutex. Sets `who` to the fiber to wake, or null. Returns true if that fiber now owns the
  // mutex.
  static bool pass_on(typename Queue::guard& hold, bool fair, bool newest, fiber*& who) noexcept {
    const bool handed = hold.pop(0, who, newest) && fair;
    if (!handed)
      hold.set(hold.get() & ~locked);
    return handed;
  }
};

}  // namespace sennit::inline v0_1::detail
