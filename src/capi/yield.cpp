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
  static_assert(offsetof(run_queue, next_slot_) == offsetof(sennit_worker_front, next_slot));
};
static_assert(offsetof(worker, ready) == 0);
static_assert(offsetof(worker, until_poll) == offsetof(sennit_worker_front, until_poll));
static_assert(offsetof(fiber, context) == offsetof(sennit_fiber_front, context));
static_assert(offsetof(fiber, word) == offsetof(sennit_fiber_front, word));
static_assert(offsetof(fiber, flags) == offsetof(sennit_fiber_front, flags));
static_assert(offsetof(fiber_flags, stackless) == SENNIT_FLAG_STACKLESS);
static_assert(offsetof(fiber_flags, slow_path) == SENNIT_FLAG_SLOW_PATH &&
              has_yield_continuation == SENNIT_HAS_YIELD_CONTINUATION);
static_assert(offsetof(fiber, next) == offsetof(sennit_fiber_front, next));

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

// For a parallel runtime's worker, it is parallel_yield() up to the switch.
sennit_fiber_front* sennit_self_yield_poll(sennit_worker* worker) {
  namespace detail = sennit::detail;
  if (worker->is_local())
    return detail::no_external_events(*worker) ? nullptr : SENNIT_YIELDS_SLOWLY;
  auto& w = static_cast<detail::parallel_worker&>(*worker);
  w.until_poll = 1;
  detail::fiber* const self = w.ready.current;
  detail::stack_should_be_whole(*self);
  detail::fiber* next;
  if (detail::direct_entry && w.plain && !w.ring.next_slot_taken() &&
      detail::parallel_dispatch_unless_poll_due(w)) [[likely]]
    next = w.ring.rotate(self);
  else
    next = detail::parallel_try_yield(w, *self);
  if (next == nullptr) [[unlikely]]
    return SENNIT_YIELDS_SLOWLY;
  if (next != self) {
    detail::count_site();
    detail::count_block(detail::yield_reason);
    w.ready.current = next;
  }
  return reinterpret_cast<sennit_fiber_front*>(next);
}

void sennit_self_yield_arrived(void) {
  sennit::detail::finish_switch();
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
