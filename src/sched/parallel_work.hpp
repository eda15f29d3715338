// Where the deciders of parallel workers get work from.
#pragma once

#include "sennit/detail/sched/parallel.hpp"

namespace sennit::detail {

// Of a policy that is not fifo (parallel_policy.cpp).
[[gnu::noinline]] fiber* parallel_take_by_policy(parallel_worker& w) noexcept;

// One that gives way, once it is known who runs next.
[[gnu::always_inline]] inline void parallel_push_yielding(parallel_worker& w, fiber& f) noexcept {
  if (w.policy == run_policy::hybrid && w.slot_left != 0)
    parallel_push_woken(w, f);
  else
    parallel_push(w, f);
}

// The slot's fiber, as long as its budget lasts; then null, and it is the ring's newest. The budget is
// renewed when the slot is not used, or when it is spent and nobody waits. (parallel_next_quickly does not
// count where nobody does.)
[[gnu::always_inline]] inline fiber* parallel_take_slot(parallel_worker& w) noexcept {
  fiber* const woken = w.ring.take_slot();
  if (woken != nullptr && w.slot_left != 0) {
    --w.slot_left;
    return woken;
  }
  w.slot_left = slot_budget;
  if (woken == nullptr || w.ring.owned() == 0)
    return woken;
  parallel_push(w, *woken);
  return nullptr;
}

// Who runs next, of those that are here; or null.
inline fiber* parallel_take_own(parallel_worker& w) noexcept {
  if (w.policy != run_policy::fifo) [[unlikely]]
    return parallel_take_by_policy(w);
  fiber* const woken = parallel_take_slot(w);
  return woken != nullptr ? woken : w.ring.pop();
}

// Every so many dispatches. The host, if the worker is to end.
[[gnu::noinline, gnu::cold]] fiber* parallel_look_outside(parallel_worker& w) noexcept;
// Nobody is ready: searches and sleeps until somebody is. Or the host, if the worker is to end.
[[gnu::noinline, gnu::cold]] fiber* parallel_idle(parallel_worker& w) noexcept;

}  // namespace sennit::detail
