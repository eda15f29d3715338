/* A context is a suspended computation that is resumed once (the papers' one-shot continuation).
 *
 * The verbs, the same on every architecture, in C11 and in C++20:
 *
 *   sennit_newstack        makes a context that will enter a function on a stack of its own
 *   sennit_newlinked       the same, and its backtrace goes on in the context that resumed it
 *   sennit_swapstack       switches: suspends us, resumes the target, hands over one word in a register
 *   sennit_swapstack4      the same with four words, all in registers
 *   sennit_swapstack_raw   the same, blind to the C++ exception globals (for measuring, and for code
 *                          that can prove it never switches while an exception is being handled)
 *   sennit_swapstack_call  the same as sennit_swapstack, out of line, with an ordinary calling convention
 *   sennit_suspend         suspends us, lets a function on another stack decide who runs next, and enters
 *                          that one: the scheduler's way in and out, without an unbalanced call or return
 *
 * The inline forms tell the compiler that every register changes; it keeps what is live across the switch
 * in our own stack frame, or hoists or recomputes it. They save by hand only what compilers cannot be
 * trusted with (see each architecture's header). All forms resume each other.
 *
 * Invariant: the C++ exception globals (the stack of caught exceptions and the count of uncaught ones, one
 * pair per OS thread) are zero across every switch except the raw one. The leaver tests them; only when
 * they are not zero it saves and zeroes them, and puts them back, into the globals of the thread it then
 * runs on, when it is resumed.
 *
 * Source: Dolan 2013, sections 3.1 to 3.3 (SWAPSTACK, NEWSTACK); 3.4 (values stay where they are live).
 *
 * In a function that has a target attribute of its own (`__attribute__((target("avx512f")))`) compiled by
 * gcc, mask registers k0-k7 cannot be named by an inline form that was written for the file's baseline: use
 * sennit_swapstack_call there.
 */
#ifndef SENNIT_DETAIL_ARCH_CONTEXT_H
#define SENNIT_DETAIL_ARCH_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "sennit/detail/arch/thread.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A suspended context. One word: it points to the record on top of the context's own stack. */
typedef struct sennit_context_record* sennit_context;

/* What a switch hands over: the context that left, and its word. */
typedef struct {
  sennit_context from;
  uintptr_t value;
} sennit_transfer;

typedef struct {
  sennit_context from;
  uintptr_t value[4];
} sennit_transfer4;

/* Where a new context begins. `from` and the values are those of the switch that entered it.
 * Must not return and must not let an exception out. */
typedef void (*sennit_entry)(sennit_context from, uintptr_t value0, uintptr_t value1, uintptr_t value2,
                             uintptr_t value3);

/* What a decider answers: whom to enter, with which word. */
typedef struct {
  sennit_context target;
  uintptr_t value;
} sennit_decision;

/* Decides, on the stack given to sennit_suspend, who runs next. `self` is the context that just left; from
 * here on it may be published. Must not throw. */
typedef sennit_decision (*sennit_decider)(sennit_context self, void* argument);

#define SENNIT_ALWAYS_INLINE static inline __attribute__((always_inline, unused))

#if defined(SENNIT_BACKEND_UCONTEXT)
#include "sennit/detail/arch/ucontext_backend.h"
#elif defined(__x86_64__) && defined(__LP64__)
#include "sennit/detail/arch/x86_64.h"
#elif defined(__aarch64__) && defined(__LP64__)
#include "sennit/detail/arch/aarch64.h"
#else
#define SENNIT_BACKEND_UCONTEXT 1
#include "sennit/detail/arch/ucontext_backend.h"
#endif

#ifdef __cplusplus
}
#endif
#endif
