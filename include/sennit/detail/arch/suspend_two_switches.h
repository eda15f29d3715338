/* sennit_suspend where the native form is not possible: two ordinary switches, through a base context that is
 * made on the scheduler step's stack each time, and left for good once it has decided.
 *
 * The portable backends use it, and sanitizer builds can: give it verbs that tell the sanitizer of each
 * switch.
 */
#ifndef SENNIT_DETAIL_ARCH_SUSPEND_TWO_SWITCHES_H
#define SENNIT_DETAIL_ARCH_SUSPEND_TWO_SWITCHES_H

#include "sennit/detail/arch/context_types.h"

/* Defines `uintptr_t suspend(void* stack, sennit_scheduler_step step, void* argument)` from the verbs
 * named. */
#define SENNIT_DEFINE_SUSPEND(suspend, newlinked, swapstack4, leave)                                   \
  SENNIT_UNSANITIZED static inline __attribute__((unused)) void suspend##_base(                        \
      sennit_context from, uintptr_t step, uintptr_t argument, uintptr_t unused2, uintptr_t unused3) { \
    sennit_decision decision = ((sennit_scheduler_step)step)(from, (void*)argument);                   \
    (void)unused2;                                                                                     \
    (void)unused3;                                                                                     \
    leave(decision.target, decision.value);                                                            \
  }                                                                                                    \
  SENNIT_UNSANITIZED static inline __attribute__((unused)) uintptr_t suspend(                          \
      void* stack, sennit_scheduler_step step, void* argument) {                                       \
    sennit_context* link = (sennit_context*)stack;                                                     \
    sennit_context backtrace = *link; /* the caller's, but newlinked writes there */                   \
    sennit_context base = newlinked(link, suspend##_base);                                             \
    *link = backtrace;                                                                                 \
    return swapstack4(base, (uintptr_t)step, (uintptr_t)argument, 0, 0).value[0];                      \
  }

#endif
