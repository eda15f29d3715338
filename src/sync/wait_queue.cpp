// The slow paths of the wait queue.
#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit::detail {

void deliver_and_enter(fiber* who) {
  deliver(who);
  // Throws nothing, although a yield may throw while the runtime ends or where it gives up the stack:
  // destructors unlock mutexes.
  if (parallel_worker* w = this_parallel();
      who != nullptr && w != nullptr && !w->unwinding && (w->ready.current->flags.unusual & yields_away) == 0)
    parallel_yield(*w);
}

void deliver_all(fiber_chain& woken) noexcept {
  while (fiber* f = woken.pop())
    parallel_ready_in_turn(*f, fiber_status::notified);
  let_go_of_taken();
}

}  // namespace sennit::detail
