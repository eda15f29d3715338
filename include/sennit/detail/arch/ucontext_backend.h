/* The verbs on <ucontext.h>: no assembly of ours, for every CPU whose libc has makecontext, at the price of
 * two signal-mask system calls a switch. Nameable beside the native verbs, so that one program can measure
 * both; a context made by this backend is resumed by this backend only.
 *
 * What differs from the native backends: the floating-point control words and the signal mask are per
 * context; the record is large, lies in the frame of the function that switches, and up to
 * SENNIT_UCONTEXT_BELOW_RECORD bytes below it are in use; backtraces end where the context began, linked or
 * not.
 *
 * Source: Engelschall 2000, section 2 (machine contexts by makecontext and swapcontext).
 */
#ifndef SENNIT_DETAIL_ARCH_UCONTEXT_BACKEND_H
#define SENNIT_DETAIL_ARCH_UCONTEXT_BACKEND_H

#include "sennit/detail/arch/context_types.h"
#include "sennit/detail/arch/suspend_two_switches.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SENNIT_UCONTEXT_RECORD_SIZE 5120 /* AArch64's ucontext_t has 4,560 bytes */
#define SENNIT_UCONTEXT_BELOW_RECORD 4096

/* Makes a context on the stack of `size` bytes at `stack`, whichever way stacks grow. */
sennit_context sennit_ucontext_make(void* stack, size_t size, sennit_entry entry);

/* The verbs, for stacks that grow down. */
sennit_context sennit_ucontext_newstack(void* top, sennit_entry entry);
sennit_context sennit_ucontext_newlinked(sennit_context* top, sennit_entry entry);
sennit_context sennit_ucontext_newrounds(void* top);
sennit_transfer sennit_ucontext_swapstack(sennit_context target, uintptr_t value);
sennit_transfer sennit_ucontext_swapstack_raw(sennit_context target, uintptr_t value);
sennit_transfer4 sennit_ucontext_swapstack4(sennit_context target, uintptr_t value0, uintptr_t value1,
                                            uintptr_t value2, uintptr_t value3);
sennit_transfer sennit_ucontext_swapstack_linking(sennit_context target, uintptr_t value,
                                                  sennit_context* self);
sennit_transfer sennit_ucontext_swapstack_filed(sennit_context target, uintptr_t value, sennit_context* self);
__attribute__((noreturn)) void sennit_ucontext_leave(sennit_context target, uintptr_t value);

SENNIT_DEFINE_SUSPEND(sennit_ucontext_suspend, sennit_ucontext_newlinked, sennit_ucontext_swapstack4,
                      sennit_ucontext_leave)

#ifdef __cplusplus
}
#endif
#endif
