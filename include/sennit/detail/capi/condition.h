/* The inline wait and notification of C. Included by sennit.h only.
 *
 * Here are those of a local condition, with a mutex for which no fiber waits. All others are calls (wait.h).
 * src/capi/sync.cpp makes the fronts.
 */
#ifndef SENNIT_DETAIL_CAPI_CONDITION_H
#define SENNIT_DETAIL_CAPI_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sennit/detail/capi/mutex.h"
#include "sennit/detail/capi/park.h"
#include "sennit/detail/capi/wait.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sennit_condition;
int sennit_condition_notify_one(struct sennit_condition* condition);
/* The end of a wait whose mutex is not free, or of a fiber that may be unwound. `word`: of the switch. */
int sennit_condition_end_wait(struct sennit_mutex* mutex, uintptr_t word);

#define SENNIT_LOCAL_MARKED 1 /* by waiters */

#if !defined(SENNIT_YIELD_BY_CALL)

SENNIT_ALWAYS_INLINE int sennit_condition_wait_inline(struct sennit_condition* condition,
                                                      struct sennit_mutex* mutex) {
  struct sennit_lock_front* const queue = (struct sennit_lock_front*)condition;
  struct sennit_lock_front* const held = (struct sennit_lock_front*)mutex;
  struct sennit_worker_front* worker = NULL;
  struct sennit_wait wait;
  uintptr_t word;
  if (__builtin_expect(condition != NULL && mutex != NULL && held->word == SENNIT_LOCAL_LOCKED &&
                           queue->word != SENNIT_OF_SHARED,
                       1))
    worker = sennit_may_park();
  if (__builtin_expect(worker == NULL, 0))
    return sennit_finish_wait(sennit_condition_begin_wait(condition, mutex, &wait), &wait);
  worker->current->word = 0;
  sennit_push_last(&queue->waiters, worker->current);
  queue->word |= SENNIT_LOCAL_MARKED;
  held->word = 0;
  ++queue->users;
  ++held->users;
  word = sennit_park(worker, "condition variable", &queue->shared_word);
  --queue->users;
  if (__builtin_expect(held->word != 0, 0) || sennit_unwinds())
    return sennit_condition_end_wait(mutex, word);
  held->word = SENNIT_LOCAL_LOCKED;
  --held->users;
  return 0;
}

SENNIT_ALWAYS_INLINE int sennit_condition_notify_one_inline(struct sennit_condition* condition) {
  struct sennit_lock_front* const queue = (struct sennit_lock_front*)condition;
  struct sennit_fiber_front* waiter;
  if (__builtin_expect(queue != NULL && queue->word != SENNIT_OF_SHARED, 1) && !sennit_may_be_parallel()) {
    if (sennit_is_empty(&queue->waiters))
      return 0;
    waiter = sennit_pop_fiber(&queue->waiters);
    if (waiter != NULL) {
      waiter->word = 0;
      sennit_wake(waiter);
      return 0;
    }
  }
  return sennit_condition_notify_one(condition);
}

#endif

#ifdef __cplusplus
}
#endif

#endif
