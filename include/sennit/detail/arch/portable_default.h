/* A portable backend under the verbs' own names. Included by context.h only: the one that
 * SENNIT_BACKEND_UCONTEXT or SENNIT_BACKEND_SIGNALSTACK names. */
#ifndef SENNIT_DETAIL_ARCH_PORTABLE_DEFAULT_H
#define SENNIT_DETAIL_ARCH_PORTABLE_DEFAULT_H

#if defined(SENNIT_BACKEND_UCONTEXT)
#include "sennit/detail/arch/ucontext_backend.h"
#define SENNIT_BACKEND_VERB(verb) sennit_ucontext_##verb
#define SENNIT_RECORD_SIZE SENNIT_UCONTEXT_RECORD_SIZE
#define SENNIT_BELOW_RECORD SENNIT_UCONTEXT_BELOW_RECORD
#else
#include "sennit/detail/arch/signalstack_backend.h"
#define SENNIT_BACKEND_VERB(verb) sennit_signalstack_##verb
#define SENNIT_RECORD_SIZE SENNIT_SIGNALSTACK_ROOM
#define SENNIT_BELOW_RECORD SENNIT_SIGNALSTACK_BELOW_RECORD
#endif

SENNIT_ALWAYS_INLINE sennit_context sennit_newstack(void* top, sennit_entry entry) {
  sennit_should_be_top(top);
  return SENNIT_BACKEND_VERB(newstack)(top, entry);
}

SENNIT_ALWAYS_INLINE void sennit_end_backtraces(void* top) {
  (void)top; /* they end at the switch anyway */
}

SENNIT_ALWAYS_INLINE sennit_context sennit_newlinked(sennit_context* top, sennit_entry entry) {
  sennit_should_be_top(top);
  return SENNIT_BACKEND_VERB(newlinked)(top, entry);
}

SENNIT_ALWAYS_INLINE sennit_context sennit_newrounds(void* top) {
  sennit_should_be_top(top);
  return SENNIT_BACKEND_VERB(newrounds)(top);
}

/* A round ends by its return. */
SENNIT_ALWAYS_INLINE sennit_decision sennit_round_leave(sennit_decision answer) {
  return answer;
}

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack(sennit_context target, uintptr_t value) {
  return SENNIT_BACKEND_VERB(swapstack)(target, value);
}

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack_call(sennit_context target, uintptr_t value) {
  return SENNIT_BACKEND_VERB(swapstack)(target, value);
}

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack_raw(sennit_context target, uintptr_t value) {
  return SENNIT_BACKEND_VERB(swapstack_raw)(target, value);
}

SENNIT_ALWAYS_INLINE sennit_transfer4 sennit_swapstack4(sennit_context target, uintptr_t value0,
                                                        uintptr_t value1, uintptr_t value2,
                                                        uintptr_t value3) {
  return SENNIT_BACKEND_VERB(swapstack4)(target, value0, value1, value2, value3);
}

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack_linking(sennit_context target, uintptr_t value,
                                                              sennit_context* self) {
  return SENNIT_BACKEND_VERB(swapstack_linking)(target, value, self);
}

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack_filed(sennit_context target, uintptr_t value,
                                                            sennit_context* self) {
  return SENNIT_BACKEND_VERB(swapstack_filed)(target, value, self);
}

SENNIT_ALWAYS_INLINE uintptr_t sennit_swapstack_saving(sennit_context target, uintptr_t value,
                                                       sennit_context* self) {
  return sennit_swapstack_linking(target, value, self).value;
}

SENNIT_ALWAYS_INLINE __attribute__((noreturn)) void sennit_leave(sennit_context target, uintptr_t value) {
  SENNIT_BACKEND_VERB(leave)(target, value);
}

SENNIT_ALWAYS_INLINE uintptr_t sennit_suspend(void* stack, sennit_scheduler_step step, void* argument) {
  return SENNIT_BACKEND_VERB(suspend)(stack, step, argument);
}

#endif
