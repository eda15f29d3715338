// The wait queue's slower ways.
#include "sennit/detail/sync/wait_queue.hpp"

#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/sync/low_lock_waiters.hpp"

namespace sennit::detail {

void deliver_and_enter(fiber* who) {
  deliver(who);
  // Nothing is thrown here, as a yield may while the runtime ends, or where it gives up the stack: locks are
  // let go in destructors.
  if (parallel_worker* w = this_parallel();
      who != nullptr && w != nullptr && !w->unwinding && (w->ready.current->flags.unusual & yields_away) == 0)
    parallel_yield(*w);
}

std::uintptr_t low_lock_waiters::lock_slow() noexcept {
  for (backoff pause;; pause()) {
    std::uintptr_t seen = word_.load(std::memory_order_relaxed);
    if ((seen & locked) == 0 && word_.compare_exchange_weak(seen, seen | locked, std::memory_order_acquire,
                                                            std::memory_order_relaxed))
      return seen;
  }
}

void deliver_all(fiber_chain& woken) noexcept {
  while (fiber* f = woken.pop())
    parallel_ready_in_turn(*f, fiber_status::notified);
}

}  // namespace sennit::detail
