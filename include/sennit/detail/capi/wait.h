/* The inline switch of C's waits. Included by sennit.h only.
 *
 * A call that returns after a switch costs more than the switch: the processor has predicted another return.
 * So a function that may wait is called twice, before and after the switch, and the switch is inline. The
 * first call does all that needs no switch, and whatever is rare, and returns the result. If it returns
 * SENNIT_WAITS, the caller is about to wait, and `wait` says how to leave, and what to call afterwards.
 * Macros of the functions' names lead here; the functions themselves exist as well.
 */
#ifndef SENNIT_DETAIL_CAPI_WAIT_H
#define SENNIT_DETAIL_CAPI_WAIT_H

#include <stddef.h>
#include <stdint.h>

#include "sennit/detail/capi/yield.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sennit_channel;
struct sennit_condition;
struct sennit_fiber;
struct sennit_mutex;

#define SENNIT_WAITS 1

struct sennit_wait {
  sennit_scheduler_step step; /* makes the switch, with `room` as its argument; null: enter `target` */
  void* stack;                /* of the step */
  sennit_context target;
  uintptr_t value;
  sennit_context* self;
  int (*end)(struct sennit_wait* wait, uintptr_t word); /* the second call; `word`: of the switch */
  void* objects[2];                                     /* for that */
  int error;                                            /* errno, which a wait keeps */
  uintptr_t room[16];
};

int sennit_channel_begin_send(struct sennit_channel* channel, const void* element, struct sennit_wait* wait);
int sennit_channel_begin_receive(struct sennit_channel* channel, void* element, struct sennit_wait* wait);
int sennit_condition_begin_wait(struct sennit_condition* condition, struct sennit_mutex* mutex,
                                struct sennit_wait* wait);
int sennit_fiber_begin_join(struct sennit_fiber* fiber, int64_t deadline, struct sennit_wait* wait);

#if !defined(SENNIT_YIELD_BY_CALL)

SENNIT_ALWAYS_INLINE int sennit_finish_wait(int begun, struct sennit_wait* wait) {
  uintptr_t word;
  if (begun != SENNIT_WAITS)
    return begun;
  if (wait->step != NULL)
    word = sennit_suspend(wait->stack, wait->step, wait->room);
  else
    word = sennit_swapstack_saving(wait->target, wait->value, wait->self);
  return wait->end(wait, word);
}

#endif

#ifdef __cplusplus
}
#endif

#endif
