/* How a fiber of a local runtime waits, and how another one wakes it, inline in C. Included by sennit.h only.
 *
 * They do what park_unstoppable() and unpark() of sched/worker.hpp do. Rare cases are calls, which
 * src/capi/park.cpp has.
 */
#ifndef SENNIT_DETAIL_CAPI_PARK_H
#define SENNIT_DETAIL_CAPI_PARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sennit/detail/capi/yield.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SENNIT_STATUS_WAITING 2
#define SENNIT_STATUS_JOINING 4
#define SENNIT_STATUS_NOTIFIED 5
#define SENNIT_STATUS_BEGINS 10
#define SENNIT_STATUS_FINISHED 11

/* The running fiber is about to wait: takes it out of the queue. Returns what to enter, which is current. If
 * that is null, sennit_park_by_step() makes the switch. A wait for a fiber's end is separate. */
sennit_decision sennit_prepare_park(struct sennit_worker* worker, const char* reason, const void* object);
sennit_decision sennit_prepare_join(struct sennit_worker* worker, struct sennit_fiber_front* joined);
uintptr_t sennit_park_by_step(struct sennit_worker* worker);
/* After a wait, while the runtime ends: unwinds the caller if its wait has not ended otherwise. */
uintptr_t sennit_park_at_end(uintptr_t word);
/* A fiber that is marked as notified becomes ready. */
void sennit_make_ready(struct sennit_fiber_front* fiber);

#if !defined(SENNIT_YIELD_BY_CALL)

/* The caller's worker, if the caller may wait inline; or null. */
SENNIT_ALWAYS_INLINE struct sennit_worker_front* sennit_may_park(void) {
  struct sennit_worker_front* const worker = (struct sennit_worker_front*)sennit_thread_worker();
  return __builtin_expect(worker != NULL && worker->current != NULL && worker->until_poll != 1 &&
                              !worker->current->flags[SENNIT_FLAG_STOPPABLE],
                          1)
             ? worker
             : NULL;
}

/* The switch. Returns the waker's word. The caller must look at sennit_unwinds() next. */
SENNIT_ALWAYS_INLINE uintptr_t sennit_park_by(sennit_decision to, struct sennit_worker_front* worker,
                                              struct sennit_fiber_front* self) {
  const int error = *worker->error_number;
  const uintptr_t word = __builtin_expect(to.target != NULL, 1)
                             ? sennit_swapstack_saving(to.target, to.value, &self->context)
                             : sennit_park_by_step((struct sennit_worker*)worker);
  int* const error_here = ((struct sennit_worker_front*)sennit_thread_worker())->error_number;
  if (__builtin_expect(*error_here != error, 0))
    *error_here = error;
  return word;
}
/* Its waker finds the caller by now. `worker`: of sennit_may_park(). */
SENNIT_ALWAYS_INLINE uintptr_t sennit_park(struct sennit_worker_front* worker, const char* reason,
                                           const void* object) {
  struct sennit_fiber_front* const self = worker->current;
  sennit_should_hold_no_lock("waits", reason);
  return sennit_park_by(sennit_prepare_park((struct sennit_worker*)worker, reason, object), worker, self);
}
SENNIT_ALWAYS_INLINE bool sennit_unwinds(void) {
  return __builtin_expect(((struct sennit_worker_front*)sennit_thread_worker())->unwinding, 0);
}

SENNIT_ALWAYS_INLINE bool sennit_is_empty(const struct sennit_links* list) {
  return list->next == list;
}
SENNIT_ALWAYS_INLINE void sennit_push_last(struct sennit_links* list, struct sennit_fiber_front* self) {
  struct sennit_links* const last = list->previous;
  self->links.previous = last;
  self->links.next = list;
  list->previous = &self->links;
  last->next = &self->links;
}
/* Takes the first waiter off a list that is not empty, if it is a fiber that may be woken inline. Otherwise
 * returns null. */
SENNIT_ALWAYS_INLINE struct sennit_fiber_front* sennit_pop_fiber(struct sennit_links* list) {
  struct sennit_fiber_front* const first = (struct sennit_fiber_front*)list->next;
  if (__builtin_expect(first->flags[SENNIT_FLAG_KIND] != 0 || first->home != sennit_thread_worker(), 0))
    return NULL;
  list->next = first->links.next;
  first->links.next->previous = list;
  return first;
}
/* It has its word, and is in no list. */
SENNIT_ALWAYS_INLINE void sennit_wake(struct sennit_fiber_front* fiber) {
  struct sennit_worker_front* const worker = (struct sennit_worker_front*)fiber->home;
  fiber->flags[SENNIT_FLAG_STATUS] = SENNIT_STATUS_NOTIFIED;
  if (__builtin_expect(worker->next_slot == NULL, 1))
    worker->next_slot = fiber;
  else
    sennit_make_ready(fiber);
}

#endif

#ifdef __cplusplus
}
#endif

#endif
