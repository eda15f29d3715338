// How the two policies wake: what is not inline.
#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::detail {

namespace {

// The caller yields to a fiber that it has readied. Throws nothing, although a yield may throw while the
// runtime ends or where it gives up the stack: destructors unlock mutexes.
bool may_yield_to(const fiber* who, const worker* w) noexcept {
  return who != nullptr && w != nullptr && w->ready.running() && !w->unwinding &&
         (w->ready.current->flags.slow_path & has_yield_continuation) == 0;
}

}  // namespace

void any_thread::make_ready_and_enter(fiber* who) {
  make_ready(who);
  if (parallel_worker* const w = this_parallel(); may_yield_to(who, w))
    parallel_yield(*w);
}

void any_thread::make_all_ready(fiber_chain& woken) noexcept {
  while (fiber* f = woken.pop())
    parallel_ready_back(*f, fiber_status::notified);
  release_taken();
}

void one_thread::make_ready_and_enter(fiber* who) {
  make_ready(who);
  if (may_yield_to(who, this_worker()))
    yield();
}

// Each wait returns the word that its waiter has.
void one_thread::make_all_ready(fiber_chain& woken) noexcept {
  while (fiber* f = woken.pop()) {
    const std::uintptr_t word = f->word;
    unpark_back(*f, fiber_status::notified);
    f->word = word;
  }
}

}  // namespace sennit::inline v0_1::detail
