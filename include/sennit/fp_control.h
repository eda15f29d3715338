/* A context's own floating-point control state: rounding, flushing to zero, traps. C and C++.
 * room: arch
 *
 *   auto fiber = sennit::spawn([] {
 *     const sennit::fp_control_guard keeps;  // from here to its end
 *     std::fesetround(FE_TOWARDZERO);        // of this fiber, wherever it runs; no other fiber is affected
 *     compute_and_wait();
 *   });
 *
 * By default a switch treats the control state as a call does: it is unchanged, so that what one context
 * sets also applies to the contexts that its thread runs next. A context that asks for its own state has it
 * until it gives it up. When it leaves, by whichever function or type, its thread gets its former state
 * back; when it resumes, on any thread, it gets its own back. Registers are compared first and loaded only
 * where they differ. Switches of contexts that do not ask have no additional instruction. Those of contexts
 * that ask take the slow path for busy exception globals.
 *
 * A context that is resumed or started by one that asks, and does not ask itself, runs with the state of
 * the thread.
 *
 * With the ucontext backend every context has its own state, whether it asks or not, which is at first its
 * creator's.
 *
 * Only the control bits are kept. The flags of raised exceptions remain the thread's, as over a call. Clear
 * the flags before you unmask traps.
 *
 * Compilers move arithmetic across changes of the control state, as with fesetround. Use -frounding-math,
 * or volatile operands, to prevent it.
 *
 * Source: Engelschall 2000, section 2 (what a machine context is made of); FACTS: a comparison costs a
 * sixth of a load.
 */
#ifndef SENNIT_FP_CONTROL_H
#define SENNIT_FP_CONTROL_H

#include <stdint.h>

#include "sennit/detail/arch/thread.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the calling thread's current control state in one word: x86-64's mxcsr, with the x87 control word
 * in the upper half; AArch64's FPCR, ARM's FPSCR, RISC-V's fcsr, PowerPC's fpscr, s390x's fpc; their
 * control bits, in their places. Returns 0 on other processors and without a floating-point unit: nothing
 * is kept there.
 */
uint64_t sennit_fp_control_get(void);

/** Sets the control bits, in the registers in which they differ. Other bits are ignored. */
void sennit_fp_control_set(uint64_t word);

/** One request for a control state of one's own. It lives in the frame of the caller. The members are
 * private.
 */
struct sennit_fp_keeper {
  struct sennit_exception_state looks_busy; /**< makes each switch take the slow path */
  uint64_t own;                             /**< the context's state while it is suspended */
  uint64_t found;                 /**< the thread's state; of an inner one: the state that its end restores */
  struct sennit_fp_keeper* outer; /**< the context's first one; null: this is the first */
};

/** From here on the calling context has a control state of its own, at first the thread's, until the
 * matching sennit_fp_control_drop, which restores the former state. The pairs may be nested within one
 * context, and each ends before its function returns. Do not call sennit_swapstack_raw, sennit_leave or
 * sennit_mctx_restore between the two (for mctx.h there is SENNIT_MCTX_FP_CONTROL). Any thread.
 */
void sennit_fp_control_keep(struct sennit_fp_keeper* keeper);
/** Ends what sennit_fp_control_keep began, and restores the former state. */
void sennit_fp_control_drop(struct sennit_fp_keeper* keeper);

#ifdef __cplusplus
}

#include "sennit/detail/arch/cplusplus.hpp"

namespace sennit::inline v0_1 {

/** sennit_fp_control_keep() for a scope. */
class [[nodiscard]] fp_control_guard {
public:
  /** From here on the calling context has a control state of its own. */
  fp_control_guard() noexcept { sennit_fp_control_keep(&keeper_); }
  /** Restores the former state. */
  ~fp_control_guard() { sennit_fp_control_drop(&keeper_); }
  fp_control_guard(const fp_control_guard&) = delete;
  fp_control_guard& operator=(const fp_control_guard&) = delete;

private:
  sennit_fp_keeper keeper_;
};

}  // namespace sennit::inline v0_1
#endif

#endif
