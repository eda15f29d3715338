// The choice of the next fiber on a parallel worker whose policy is not fifo, and its yields.
//
// run_queue.hpp defines hybrid. Here the next slot is the ring's. Its budget is the number of fibers that may
// still run first. The usual paths count it as they do for fifo: mostly not while the ring is empty. Once it
// is spent, the next slot's fiber becomes the ring's newest at the next dispatch that keeps another one
// waiting. A thief takes the oldest of the fibers that must run before the next slot is used again, which
// delays that.
#include "find_work.hpp"

#include <algorithm>
#include <utility>

namespace sennit::inline v0_1::detail {

namespace {

fiber* take_lifo(parallel_worker& w) noexcept {
  fiber* const woken = parallel_take_next_slot(w);
  return woken != nullptr ? woken : w.ring.pop_newest();
}

fiber* take_hybrid(parallel_worker& w) noexcept {
  hybrid_turns& turns = w.turns;
  if (turns.left == 0 && turns.had != 0)
    w.next_slot_left = std::max(hybrid_adds, hybrid_adds_each * std::exchange(turns.had, 0u));
  if (w.next_slot_left != 0) {
    fiber* const first = w.ring.take_next_slot();
    w.next_slot_left -= first != nullptr;
    return first != nullptr ? first : w.ring.pop();
  }
  if (fiber* const first = w.ring.take_next_slot())
    parallel_push(w, *first);
  if (turns.left == 0)
    turns.left = static_cast<unsigned>(w.ring.owned());
  fiber* const next = w.ring.pop();
  turns.had += next != nullptr;
  turns.left = next != nullptr ? turns.left - 1 : 0;
  return next;
}

}  // namespace

fiber* parallel_take_by_policy(parallel_worker& w) noexcept {
  return w.policy == run_policy::lifo ? take_lifo(w) : take_hybrid(w);
}

fiber* parallel_try_yield(parallel_worker& w, fiber& self) noexcept {
  if (!direct_entry || !w.direct || (self.flags.slow_path & has_yield_continuation) != 0 || w.ring.full() ||
      !parallel_dispatch_unless_poll_due(w))
    return nullptr;
  fiber* const next = w.policy == run_policy::hybrid ? take_hybrid(w) : parallel_take_own(w);
  if (next == nullptr)
    return &self;
  w.ring.mark_leaving(&self);
  parallel_push_yielding(w, self);
  return next;
}

}  // namespace sennit::inline v0_1::detail
