/* A context's own floating-point control state: rounding, flushing to zero, traps. C and C++.
 * room: arch
 *
 *   auto fiber = sennit::spawn([] {
 *     const sennit::fp_control_guard keeps;  // from here to its end
 *     std::fesetround(FE_TOWARDZERO);        // of this fiber, wherever it goes on; no other one sees it
 *     compute_and_wait();
 *   });
 *
 * A switch is to the control state what a call is: it stays as it is, so that what a context sets is seen by
 * those that its thread runs next. A context that asks has its own instead, for as long as it asks: when it
 * leaves, by whichever verb or type, its thread gets back what it had, and when it goes on, on that thread or
 * another, so does its own. Registers are compared first and loaded only where they differ. Switches of
 * contexts that do not ask have no instruction more; those of one that asks take the way round busy exception
 * globals.
 *
 * Who is resumed or started by one that asks, and does not ask itself, runs with the state of the thread.
 *
 * With the ucontext backend every context has its own, whether it asks or not, at first its creator's.
 *
 * The control bits alone: the flags of exceptions that were raised stay the thread's, as over a call. Who
 * unmasks traps clears the flags first.
 *
 * Compilers move arithmetic across changes of the control state unless told not to: -frounding-math, or
 * volatile operands. This is as with fesetround.
 *
 * Source: Engelschall 2000, section 2 (what a machine context is made of); FACTS: a comparison costs a sixth
 * of a load.
 */
#ifndef SENNIT_FP_CONTROL_H
#define SENNIT_FP_CONTROL_H

#include <stdint.h>

#include "sennit/detail/arch/thread.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The calling thread's control state just now, in one word: x86-64's mxcsr, with the x87 control word in the
 * upper half; AArch64's FPCR, ARM's FPSCR, RISC-V's fcsr, PowerPC's fpscr, s390x's fpc; their control bits,
 * in their places. Elsewhere, and without a floating-point unit, 0: nothing is kept there. */
uint64_t sennit_fp_control_get(void);

/* Sets the control bits, of the registers in which they differ. Others are ignored. */
void sennit_fp_control_set(uint64_t word);

/* One request. It lies in the frame that asks; the members are nobody's. */
struct sennit_fp_keeper {
  struct sennit_exception_state looks_busy; /* by which every switch goes the way that asks */
  uint64_t own;                             /* while its context is suspended */
  uint64_t found;                 /* what the thread had; of an inner one: what its end brings back */
  struct sennit_fp_keeper* outer; /* the context's first one; null: it is that itself */
};

/* From here on the calling context has control state of its own, at first the thread's, until the end, which
 * brings back what was there before. They are nested, within one context, and each has its end before its
 * function returns. Neither sennit_swapstack_raw, nor sennit_leave, nor sennit_mctx_restore is called between
 * the two (for mctx.h there is SENNIT_MCTX_FP_CONTROL). Any thread. */
void sennit_fp_control_keep(struct sennit_fp_keeper* keeper);
void sennit_fp_control_drop(struct sennit_fp_keeper* keeper);

#ifdef __cplusplus
}

#include "sennit/detail/arch/cplusplus.hpp"

namespace sennit {

/* The same for a scope. */
class [[nodiscard]] fp_control_guard {
public:
  fp_control_guard() noexcept { sennit_fp_control_keep(&keeper_); }
  ~fp_control_guard() { sennit_fp_control_drop(&keeper_); }
  fp_control_guard(const fp_control_guard&) = delete;
  fp_control_guard& operator=(const fp_control_guard&) = delete;

private:
  sennit_fp_keeper keeper_;
};

}  // namespace sennit
#endif

#endif
