/* A context is a suspended computation that is resumed once (the papers' one-shot continuation).
 *
 * The verbs. They are the same on every architecture, in C11 and in C++20:
 *
 *   sennit_newstack        makes a context that will enter a function on a stack of its own
 *   sennit_newlinked       the same; its backtrace continues in the context that resumed it
 *   sennit_newrounds       makes a context that runs a function anew each time it is entered
 *   sennit_round_leave     ends such a function, from wherever in it
 *   sennit_swapstack       switches: suspends us, resumes the target, hands over one word in a register
 *   sennit_swapstack4      the same with four words, all in registers
 *   sennit_swapstack8      the same with eight words, on x86-64 and AArch64; a target that receives more than
 *                          four has left by it, or was made by sennit_newstack8
 *   sennit_swapstack_raw   the first, blind to the C++ exception globals (for measuring, and for code
 *                          that can prove it never switches while an exception is being handled)
 *   sennit_swapstack_call  like sennit_swapstack, out of line, with an ordinary calling convention
 *   sennit_swapstack_linking  like sennit_swapstack, and stores our own context at a given place
 *   sennit_swapstack_saving   like sennit_swapstack_linking, but does not return the resumer's context
 *   sennit_swapstack_filed    like sennit_swapstack_linking, and the target does not get our context
 *   sennit_suspend         suspends us, lets a function on another stack decide which context runs next, and
 *                          enters that one: the scheduler's way in and out, with balanced calls and returns
 *   sennit_leave           leaves for a target for good
 *
 * The inline forms declare every register as changed. So the compiler keeps what is live across the switch in
 * our own stack frame, or hoists or recomputes it. They save by hand only registers that compilers do not
 * save reliably (see each architecture's header). All forms resume each other.
 *
 * Invariant: the C++ exception globals (the stack of caught exceptions and the count of uncaught ones, one
 * pair per OS thread) are zero across every switch except the raw one. The leaver tests them. Only if they
 * are not zero, it saves and zeroes them; when it is resumed, it restores them into the globals of the thread
 * that it then runs on. Contexts that keep their floating-point control state take the same path by the same
 * test (sennit/fp_control.h); for others it stays as over a call.
 *
 * Source: Dolan 2013, sections 3.1 to 3.3 (SWAPSTACK, NEWSTACK); 3.4 (values stay where they are live).
 *
 * In a function with its own target attribute (`__attribute__((target("avx512f")))`) compiled by gcc, an
 * inline form cannot name mask registers k0-k7, because it was written for the file's baseline: use
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
