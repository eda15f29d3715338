/* A context is a suspended computation that is resumed once (the papers' one-shot continuation).
 *
 * The verbs, the same on every architecture, in C11 and in C++20:
 *
 *   sennit_newstack        makes a context that will enter a function on a stack of its own
 *   sennit_newlinked       the same, and its backtrace goes on in the context that resumed it
 *   sennit_newrounds       makes a context that runs a function anew each time it is entered
 *   sennit_round_leave     ends such a function, from wherever in it
 *   sennit_swapstack       switches: suspends us, resumes the target, hands over one word in a register
 *   sennit_swapstack4      the same with four words, all in registers
 *   sennit_swapstack_raw   the same, blind to the C++ exception globals (for measuring, and for code
 *                          that can prove it never switches while an exception is being handled)
 *   sennit_swapstack_call  the same as sennit_swapstack, out of line, with an ordinary calling convention
 *   sennit_swapstack_linking  the same as sennit_swapstack, and stores our own context where we say
 *   sennit_swapstack_saving   the same, for those who do not ask who resumed them
 *   sennit_swapstack_filed    the same as sennit_swapstack_linking, and the target is not told who left
 *   sennit_suspend         suspends us, lets a function on another stack decide who runs next, and enters
 *                          that one: the scheduler's way in and out, without an unbalanced call or return
 *   sennit_leave           leaves for a target for good
 *
 * The inline forms tell the compiler that every register changes; it keeps what is live across the switch
 * in our own stack frame, or hoists or recomputes it. They save by hand only what compilers cannot be
 * trusted with (see each architecture's header). All forms resume each other.
 *
 * Invariant: the C++ exception globals (the stack of caught exceptions and the count of uncaught ones, one
 * pair per OS thread) are zero across every switch except the raw one. The leaver tests them; only when
 * they are not zero it saves and zeroes them, and puts them back, into the globals of the thread it then
 * runs on, when it is resumed. By the same test contexts that keep their floating-point control state go the
 * same way (sennit/fp_control.h); for others it stays as over a call.
 *
 * Source: Dolan 2013, sections 3.1 to 3.3 (SWAPSTACK, NEWSTACK); 3.4 (values stay where they are live).
 *
 * In a function that has a target attribute of its own (`__attribute__((target("avx512f")))`) compiled by
 * gcc, mask registers k0-k7 cannot be named by an inline form that was written for the file's baseline: use
 * sennit_swapstack_call there.
 */
#ifndef SENNIT_DETAIL_ARCH_CONTEXT_H
#define SENNIT_DETAIL_ARCH_CONTEXT_H

#include "sennit/detail/arch/context_types.h"
#include "sennit/detail/arch/thread.h"

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(SENNIT_BACKEND_UCONTEXT) && !defined(SENNIT_BACKEND_SIGNALSTACK) &&                  \
    !(defined(__LP64__) &&                                                                        \
      (defined(__x86_64__) || defined(__aarch64__) || defined(__riscv) || defined(__s390x__))) && \
    !(defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)) && !(defined(__ARM_EABI__) && __ARM_ARCH >= 7)
#define SENNIT_BACKEND_UCONTEXT 1
#endif

#if defined(SENNIT_BACKEND_UCONTEXT) || defined(SENNIT_BACKEND_SIGNALSTACK)
#define SENNIT_BACKEND_PORTABLE 1
#include "sennit/detail/arch/portable_default.h"
#else
#include "sennit/detail/arch/native.h"
#endif

#ifdef __cplusplus
}
#endif
#endif
