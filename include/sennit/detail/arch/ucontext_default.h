/* The ucontext backend under the verbs' own names. Included by context.h only, on CPUs without a switch of
 * their own and where SENNIT_BACKEND_UCONTEXT is defined. */
#ifndef SENNIT_DETAIL_ARCH_UCONTEXT_DEFAULT_H
#define SENNIT_DETAIL_ARCH_UCONTEXT_DEFAULT_H

#include "sennit/detail/arch/ucontext_backend.h"

#define SENNIT_RECORD_SIZE SENNIT_UCONTEXT_RECORD_SIZE
#define SENNIT_BELOW_RECORD SENNIT_UCONTEXT_BELOW_RECORD

SENNIT_ALWAYS_INLINE sennit_context sennit_newstack(void* top, sennit_entry entry) {
  return sennit_ucontext_newstack(top, entry);
}

SENNIT_ALWAYS_INLINE sennit_context sennit_newlinked(sennit_context* top, sennit_entry entry) {
  return sennit_ucontext_newlinked(top, entry);
}

SENNIT_ALWAYS_INLINE sennit_context sennit_newrounds(void* top) {
  return sennit_ucontext_newrounds(top);
}

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack(sennit_context target, uintptr_t value) {
  return sennit_ucontext_swapstack(target, value);
}

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack_call(sennit_context target, uintptr_t value) {
  return sennit_ucontext_swapstack(target, value);
}

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack_raw(sennit_context target, uintptr_t value) {
  return sennit_ucontext_swapstack_raw(target, value);
}

SENNIT_ALWAYS_INLINE sennit_transfer4 sennit_swapstack4(sennit_context target, uintptr_t value0,
                                                        uintptr_t value1, uintptr_t value2,
                                                        uintptr_t value3) {
  return sennit_ucontext_swapstack4(target, value0, value1, value2, value3);
}

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack_linking(sennit_context target, uintptr_t value,
                                                              sennit_context* self) {
  return sennit_ucontext_swapstack_linking(target, value, self);
}

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack_filed(sennit_context target, uintptr_t value,
                                                            sennit_context* self) {
  return sennit_ucontext_swapstack_filed(target, value, self);
}

SENNIT_ALWAYS_INLINE uintptr_t sennit_swapstack_saving(sennit_context target, uintptr_t value,
                                                       sennit_context* self) {
  return sennit_swapstack_linking(target, value, self).value;
}

SENNIT_ALWAYS_INLINE __attribute__((noreturn)) void sennit_leave(sennit_context target, uintptr_t value) {
  sennit_ucontext_leave(target, value);
}

SENNIT_ALWAYS_INLINE uintptr_t sennit_suspend(void* stack, sennit_decider decide, void* argument) {
  return sennit_ucontext_suspend(stack, decide, argument);
}

#endif
