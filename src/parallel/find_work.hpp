// The source of work for the scheduler steps of parallel workers.
#pragma once

#include "sennit/detail/parallel/worker_inline.hpp"

namespace sennit::inline v0_1::detail {

// For a policy that is not fifo (policy.cpp).
[[gnu::noinline]] fiber* parallel_take_by_policy(parallel_worker& w) noexcept;

// Queues a fiber that yields, once the next one is known.
[[gnu::always_inline]] inline void parallel_push_yielding(parallel_worker& w, fiber& f) noexcept {
  if (w.policy == run_policy::hybrid && w.next_slot_left != 0)
    parallel_push_woken(w, f);
  else
    parallel_push(w, f);
}

// Returns the next slot's fiber as long as its budget lasts. Then it becomes the ring's newest, and this
// returns null. The budget is renewed when the next slot is not used, or when it is spent and no fiber waits.
// (parallel_next_quickly does not count if no fiber waits.)
[[gnu::always_inline]] inline fiber* parallel_take_next_slot(parallel_worker& w) noexcept {
  fiber* const woken = w.ring.take_next_slot();
  if (woken != nullptr && w.next_slot_left != 0) {
    --w.next_slot_left;
    return woken;
  }
  w.next_slot_left = next_slot_budget;
  if (woken == nullptr || w.ring.owned() == 0)
    return woken;
  parallel_push(w, *woken);
  return nullptr;
}

// Returns the next fiber of this worker, or null.
inline fiber* parallel_take_own(parallel_worker& w) noexcept {
  if (w.policy != run_policy::fifo) [[unlikely]]
    return parallel_take_by_policy(w);
  fiber* const woken = parallel_take_next_slot(w);
  return woken != nullptr ? woken : w.ring.pop();
}

// Called when a poll is due. Returns the main fiber if the worker must end.
[[gnu::noinline, gnu::cold]] fiber* parallel_poll_external_events(parallel_worker& w) noexcept;
// Called when no fiber is ready: searches and sleeps until one is. Returns the main fiber if the worker must
// end.
[[gnu::noinline, gnu::cold]] fiber* parallel_idle(parallel_worker& w) noexcept;

}  // namespace sennit::inline v0_1::detail
