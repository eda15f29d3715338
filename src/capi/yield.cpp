// The assumptions of C's inline yield about the scheduler's types, and its rare steps.
#include "sennit/detail/capi/yield.h"

#include <new>

#include "error.hpp"
#include "sennit/detail/parallel/worker_inline.hpp"

#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace sennit::inline v0_1::detail {

struct run_queue_layout {
  static_assert(offsetof(run_queue, current) == offsetof(sennit_worker_front, current));
  static_assert(offsetof(run_queue, tail_) == offsetof(sennit_worker_front, tail));
  static_assert(offsetof(run_queue, budget_) == offsetof(sennit_worker_front, rest_of_queue.budget));
  static_assert(offsetof(run_queue, next_slot_) == offsetof(sennit_worker_front, next_slot));
};
static_assert(offsetof(worker, ready) == 0);
static_assert(offsetof(worker, until_poll) == offsetof(sennit_worker_front, until_poll));
static_assert(offsetof(worker, unwinding) == offsetof(sennit_worker_front, unwinding));
static_assert(offsetof(worker, error_number) == offsetof(sennit_worker_front, error_number));
static_assert(offsetof(worker, parallel) == offsetof(sennit_worker_front, parallel));
static_assert(offsetof(worker, parks_at) == offsetof(sennit_worker_front, parks_at));
static_assert(offsetof(worker, idle) == offsetof(sennit_worker_front, idle));
static_assert(offsetof(wait_node, next) == offsetof(sennit_links, next) &&
              offsetof(wait_node, previous) == offsetof(sennit_links, previous));
static_assert(offsetof(fiber, context) == offsetof(sennit_fiber_front, context));
static_assert(offsetof(fiber, word) == offsetof(sennit_fiber_front, word));
static_assert(offsetof(fiber, flags) == offsetof(sennit_fiber_front, flags));
static_assert(offsetof(fiber_flags, status) == SENNIT_FLAG_STATUS);
static_assert(offsetof(fiber_flags, owned) == SENNIT_FLAG_OWNED);
static_assert(offsetof(fiber_flags, stackless) == SENNIT_FLAG_STACKLESS);
static_assert(offsetof(fiber_flags, stoppable) == SENNIT_FLAG_STOPPABLE);
static_assert(offsetof(fiber_flags, kind) == SENNIT_FLAG_KIND);
static_assert(offsetof(fiber_flags, slow_path) == SENNIT_FLAG_SLOW_PATH &&
              has_yield_continuation == SENNIT_HAS_YIELD_CONTINUATION);
static_assert(offsetof(fiber, next) == offsetof(sennit_fiber_front, next));
static_assert(offsetof(fiber, joiner) == offsetof(sennit_fiber_front, joiner));
static_assert(offsetof(fiber, reason) == offsetof(sennit_fiber_front, reason));
static_assert(offsetof(fiber, object) == offsetof(sennit_fiber_front, object));
static_assert(offsetof(fiber, home) == offsetof(sennit_fiber_front, home));

struct work_ring_layout {
  using ring = dispatching::ring_type;
  static constexpr std::size_t at = offsetof(dispatching, ring);
  static_assert(ring::capacity == SENNIT_RING_CAPACITY && ring::idle == 0);
  static_assert(at + offsetof(ring, head_) == offsetof(sennit_ring_front, head));
  static_assert(at + offsetof(ring, tail_) == offsetof(sennit_ring_front, tail));
  static_assert(at + offsetof(ring, next_slot_) == offsetof(sennit_ring_front, next_slot));
  static_assert(at + offsetof(ring, leaving_) == offsetof(sennit_ring_front, leaving));
  static_assert(at + offsetof(ring, steal_) == offsetof(sennit_ring_front, thief));
  static_assert(at + offsetof(ring, places_) == offsetof(sennit_ring_front, places));
};
static_assert(offsetof(dispatching, dispatches) == 0 &&
              offsetof(dispatching, plain) == offsetof(sennit_ring_front, plain));

}  // namespace sennit::inline v0_1::detail

namespace {
// A yield continuation's state may need memory. Any other exception unwinds the fiber: do not catch it and
// throw it again on the way.
template <class Yield>
int with_memory(Yield yield) {
  try {
    yield();
    return 0;
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}
}  // namespace

int sennit_self_yield_call(void) {
  if (!sennit::capi::in_fiber())
    return -EINVAL;
  return with_memory([] {
    if (sennit::detail::parallel_worker* const w = sennit::detail::this_parallel())
      sennit::detail::parallel_yield(*w);
    else
      sennit::detail::yield();
  });
}

sennit_fiber_front* sennit_self_yield_poll(sennit_worker* worker) {
  namespace detail = sennit::detail;
  if (worker->is_local())
    return detail::no_external_events(*worker) ? nullptr : SENNIT_YIELDS_SLOWLY;
  auto& w = static_cast<detail::parallel_worker&>(*worker);
  detail::stack_should_be_whole(*w.ready.current);
  detail::fiber* const next =
      detail::direct_entry ? detail::parallel_try_yield(w, *w.ready.current) : nullptr;
  return next != nullptr ? reinterpret_cast<sennit_fiber_front*>(next) : SENNIT_YIELDS_SLOWLY;
}

sennit_fiber_front* sennit_ring_rotate_contended(sennit_ring_front* ring, sennit_fiber_front* self) {
  auto& of = *reinterpret_cast<sennit::detail::dispatching*>(ring);
  return reinterpret_cast<sennit_fiber_front*>(
      of.ring.rotate_contended(reinterpret_cast<sennit::detail::fiber*>(self)));
}

int sennit_self_yield_slow(sennit_worker* worker) {
  if (!worker->is_local())
    return with_memory(
        [worker] { sennit::detail::parallel_yield(static_cast<sennit::detail::parallel_worker&>(*worker)); });
  if (const std::uintptr_t word =
          sennit::detail::suspend(*worker, sennit::detail::sennit_dispatch_yield, worker))
    return with_memory([word] { sennit::detail::finish_interrupted_yield(word); });
  return 0;
}

sennit_fiber_front* sennit_self_yield_rotate(sennit_worker* worker) {
  return reinterpret_cast<sennit_fiber_front*>(worker->ready.rotate());
}

sennit_context sennit_self_yield_stack(sennit_worker* worker, sennit_fiber_front* next) {
  return sennit::detail::stack_for(*worker, *reinterpret_cast<sennit::detail::fiber*>(next)).target;
}
