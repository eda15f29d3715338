/* The inline join of C. Included by sennit.h only.
 *
 * Here is that of a local runtime's fiber, by another one of the same runtime. Others are calls (wait.h). The
 * fiber that ends wakes its joiner with its own address.
 */
#ifndef SENNIT_DETAIL_CAPI_JOIN_H
#define SENNIT_DETAIL_CAPI_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sennit/detail/capi/park.h"
#include "sennit/detail/capi/wait.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SENNIT_IS_PARALLEL 1 /* a bit of a fiber's handle, which is otherwise its descriptor's address */

/* Gives the handle of `fiber` back, which has ended in an unusual way. `done`: as the switch returned it. */
int sennit_fiber_collect(struct sennit_fiber* fiber, struct sennit_fiber_front* done);

#define SENNIT_NEXT_SLOT_BUDGET 16

#if !defined(SENNIT_YIELD_BY_CALL)

/* As sennit_prepare_join(), which has the rare cases. */
SENNIT_ALWAYS_INLINE sennit_decision sennit_prepare_join_inline(struct sennit_worker_front* worker,
                                                                struct sennit_fiber_front* self,
                                                                struct sennit_fiber_front* joined) {
  struct sennit_fiber_front* const next = self->next;
  sennit_decision to;
  /* One that has not begun runs next, wherever it is queued. */
  if (__builtin_expect(worker->next_slot != NULL || next == self || next->flags[SENNIT_FLAG_STACKLESS] != 0 ||
                           (next != joined && joined->flags[SENNIT_FLAG_STATUS] == SENNIT_STATUS_BEGINS),
                       0))
    return sennit_prepare_join((struct sennit_worker*)worker, joined);
  if (worker->rest_of_queue.budget != SENNIT_NEXT_SLOT_BUDGET)
    worker->rest_of_queue.budget = SENNIT_NEXT_SLOT_BUDGET;
  --worker->until_poll;
  worker->current = next;
  worker->tail->next = next;
  self->reason = "join";
  self->object = joined;
  self->flags[SENNIT_FLAG_STATUS] = SENNIT_STATUS_JOINING;
  self->next = (struct sennit_fiber_front*)(uintptr_t)worker->parks_at;
  to.target = next->context;
  to.value = next->word;
  return to;
}

SENNIT_ALWAYS_INLINE int sennit_fiber_join_inline(struct sennit_fiber* fiber, int64_t deadline) {
  struct sennit_fiber_front* const joined = (struct sennit_fiber_front*)fiber;
  struct sennit_fiber_front* done = joined;
  struct sennit_worker_front* worker = NULL;
  struct sennit_wait wait;
  if (__builtin_expect(deadline == INT64_MAX && fiber != NULL && ((uintptr_t)fiber & SENNIT_IS_PARALLEL) == 0,
                       1))
    worker = sennit_may_park();
  if (__builtin_expect(worker == NULL || joined->home != (struct sennit_worker*)worker ||
                           joined == worker->current || !joined->flags[SENNIT_FLAG_OWNED] ||
                           joined->joiner != NULL,
                       0))
    return sennit_finish_wait(sennit_fiber_begin_join(fiber, deadline, &wait), &wait);
  if (joined->flags[SENNIT_FLAG_STATUS] != SENNIT_STATUS_FINISHED) {
    struct sennit_fiber_front* const self = worker->current;
    sennit_should_hold_no_lock("waits", "join");
    joined->joiner = self;
    done = (struct sennit_fiber_front*)sennit_park_by(sennit_prepare_join_inline(worker, self, joined),
                                                      worker, self);
    worker = (struct sennit_worker_front*)sennit_thread_worker();
  }
  if (__builtin_expect(done->flags[SENNIT_FLAG_SLOW_PATH] != 0, 0))
    return sennit_fiber_collect(fiber, done);
  done->flags[SENNIT_FLAG_OWNED] = false;
  done->next = worker->idle;
  worker->idle = done;
  return 0;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
