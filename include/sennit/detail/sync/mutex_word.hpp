// A mutex, as far as it is its wait queue's state: a template on that, so that the model checker has it too.
#pragma once

#include <atomic>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/fiber.hpp"

namespace sennit::detail {

template <class Queue>
struct mutex_word {
  using state = typename Queue::state;
  // The quick ways know two: unlocked, and locked alone.
  static constexpr state unlocked = 0;
  static constexpr state locked = 1;
  static constexpr state noting = 2;  // for good: who locks it writes an owner_note
  static constexpr state fresh = 4;   // it was never locked

  // The quick ways.
  SENNIT_INLINE static bool quick_lock(Queue& queue) noexcept {
    return queue.change(unlocked, locked, std::memory_order_acquire);
  }
  SENNIT_INLINE static bool quick_unlock(Queue& queue) noexcept {
    return queue.change(locked, unlocked, std::memory_order_release);
  }

  // Under the queue's lock. False: it is not free.
  static bool take(state& now) noexcept {
    if ((now & locked) != 0)
      return false;
    if (now == fresh)
      now = owner_note::wanted.load(std::memory_order_relaxed) != 0 ? noting : unlocked;
    now |= locked;
    return true;
  }

  // By `wait(decide)`, as the queue's. False: the deadline passed first.
  template <class Wait>
  static bool wait_until_taken(bool fair, Wait wait) {
    for (bool taken = false;;) {
      const bool woken = wait([&taken](state& now) { return taken = take(now); });
      if (taken || (woken && fair))  // if it is fair, it was handed to us
        return true;
      if (!woken)
        return false;
    }
  }

  // Unlocks it, and gives whom to wake, or null. True: that one has the mutex.
  static bool pass_on(typename Queue::guard& hold, bool fair, bool newest, fiber*& who) noexcept {
    const bool handed = hold.pop(0, who, newest) && fair;
    if (!handed)
      hold.set(hold.get() & ~locked);
    return handed;
  }
};

}  // namespace sennit::detail
