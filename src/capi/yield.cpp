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

int sennit_self_yield_no_events(sennit_worker* worker) {
  if (!worker->is_local()) {
    worker->until_poll = 1;
    return 0;
  }
  return sennit::detail::no_external_events(*worker);
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
