/* The verbs on sigaltstack and sigsetjmp: only ISO C and POSIX, for every CPU and every libc. They can be
 * named beside the native verbs and those of the ucontext backend. Only the backend that made a context
 * resumes it.
 *
 * A context is made by a signal that is delivered on its stack. This costs ten system calls, one creation at
 * a time in the process; a switch makes none. src/arch/signalstack_backend.c describes how, and the rejected
 * alternatives.
 *
 * What differs from the native backends: what the kernel writes at a signal's delivery stays at the top of
 * the stack, so that a new context needs SENNIT_SIGNALSTACK_ROOM bytes below its top at once; the record lies
 * in the frame of the function that switches, and up to SENNIT_SIGNALSTACK_BELOW_RECORD bytes below it are in
 * use; backtraces end where the context began, linked or not; sennit_suspend makes a context each time. The
 * signal mask is the thread's, as on the native ones; floating-point control words are, unless libc's setjmp
 * saves them.
 *
 * AddressSanitizer and ThreadSanitizer do not bear it: their longjmp takes the stack it leaves for unwound,
 * or does not find the jump buffer. Nor do shadow stacks (x86-64's SHSTK), whose longjmp goes to frames of
 * the same one only.
 *
 * Source: Engelschall 2000, sections 3.1 to 3.5 (the signal stack trick).
 */
#ifndef SENNIT_DETAIL_ARCH_SIGNALSTACK_BACKEND_H
#define SENNIT_DETAIL_ARCH_SIGNALSTACK_BACKEND_H

#include "sennit/detail/arch/context_types.h"
#include "sennit/detail/arch/suspend_two_switches.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The signal that creation sends to its own thread. The program may use it, too, and loses neither a signal
 * nor the value that it was queued with: while one is pending, creation takes the next free signal up to
 * SIGRTMAX. errno stays as it is. In gdb: handle SIG39 nostop noprint pass. */
#define SENNIT_SIGNALSTACK_SIGNAL (SIGRTMIN + 5)

#define SENNIT_SIGNALSTACK_ROOM 16384 /* with AMX's registers a signal's frame has 12 KiB */
#define SENNIT_SIGNALSTACK_BELOW_RECORD 1024

/* Makes a context on the stack of `size` bytes at `stack`, whichever way stacks grow. 0, or an errno: EINVAL
 * without a stack, ENOMEM when the kernel finds it too small for a signal's delivery, EPERM on the thread's
 * alternate signal stack, EAGAIN when the process has as many signals pending as it may have, or one of each.
 */
int sennit_signalstack_make(sennit_context* made, void* stack, size_t size, sennit_entry entry);

/* The least stack size for sennit_signalstack_make, computed from the kernel's data. */
size_t sennit_signalstack_least(void);

/* The verbs, for stacks that grow down. Where sennit_signalstack_make would fail, they end the program. */
sennit_context sennit_signalstack_newstack(void* top, sennit_entry entry);
sennit_context sennit_signalstack_newlinked(sennit_context* top, sennit_entry entry);
sennit_context sennit_signalstack_newrounds(void* top);
sennit_transfer sennit_signalstack_swapstack(sennit_context target, uintptr_t value);
sennit_transfer sennit_signalstack_swapstack_raw(sennit_context target, uintptr_t value);
sennit_transfer4 sennit_signalstack_swapstack4(sennit_context target, uintptr_t value0, uintptr_t value1,
                                               uintptr_t value2, uintptr_t value3);
sennit_transfer sennit_signalstack_swapstack_linking(sennit_context target, uintptr_t value,
                                                     sennit_context* self);
sennit_transfer sennit_signalstack_swapstack_filed(sennit_context target, uintptr_t value,
                                                   sennit_context* self);
__attribute__((noreturn)) void sennit_signalstack_leave(sennit_context target, uintptr_t value);

SENNIT_DEFINE_SUSPEND(sennit_signalstack_suspend, sennit_signalstack_newlinked, sennit_signalstack_swapstack4,
                      sennit_signalstack_leave)

#ifdef __cplusplus
}
#endif
#endif
