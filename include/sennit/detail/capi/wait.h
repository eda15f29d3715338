/* The inline switch of C's waits. Included by sennit.h only.
 *
 * A call that returns after a switch costs more than the switch: the processor has predicted another return.
 * So a function that may wait is called twice, before and after the switch, and the switch is inline. The
 * first call does all that needs no switch, and whatever is rare, and returns the result. If it returns
 * SENNIT_WAITS, the caller is about to wait, and `wait` says how to leave. Macros of the functions' names
 * lead here; the functions themselves exist as well.
 */
#ifndef SENNIT_DETAIL_CAPI_WAIT_H
#define SENNIT_DETAIL_CAPI_WAIT_H

#include "sennit/detail/capi/yield.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sennit_channel;

#define SENNIT_WAITS 1

struct sennit_wait {
  sennit_scheduler_step step; /* makes the switch, with `room` as its argument; null: enter `target` */
  void* stack;                /* of the step */
  sennit_context target;
  uintptr_t value;
  sennit_context* self;
  struct sennit_channel* object; /* null: a shared one, which may be gone after the switch */
  int error;                     /* errno, which a wait keeps */
  uintptr_t room[16];
};

int sennit_channel_begin_send(struct sennit_channel* channel, const void* element, struct sennit_wait* wait);
int sennit_channel_begin_receive(struct sennit_channel* channel, void* element, struct sennit_wait* wait);
/* `word`: of the switch. Returns the result. */
int sennit_channel_end_wait(struct sennit_wait* wait, uintptr_t word);

#if !defined(SENNIT_YIELD_BY_CALL)

SENNIT_ALWAYS_INLINE int sennit_channel_finish(int begun, struct sennit_wait* wait) {
  uintptr_t word;
  if (begun != SENNIT_WAITS)
    return begun;
  if (wait->step != NULL)
    word = sennit_suspend(wait->stack, wait->step, wait->room);
  else
    word = sennit_swapstack_saving(wait->target, wait->value, wait->self);
  return sennit_channel_end_wait(wait, word);
}

SENNIT_ALWAYS_INLINE int sennit_channel_send_inline(struct sennit_channel* channel, const void* element) {
  struct sennit_wait wait;
  return sennit_channel_finish(sennit_channel_begin_send(channel, element, &wait), &wait);
}

SENNIT_ALWAYS_INLINE int sennit_channel_receive_inline(struct sennit_channel* channel, void* element) {
  struct sennit_wait wait;
  return sennit_channel_finish(sennit_channel_begin_receive(channel, element, &wait), &wait);
}

#endif

#ifdef __cplusplus
}
#endif

#endif
