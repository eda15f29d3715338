/* What a context puts aside while it is suspended. Without assembly: the signal stack backend is made of it.
 */
#ifndef SENNIT_DETAIL_ARCH_SLOW_STATE_H
#define SENNIT_DETAIL_ARCH_SLOW_STATE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The part of the Itanium C++ ABI's __cxa_eh_globals that a switch cares about. */
struct sennit_exception_state {
  void* caught;       /* innermost exception being handled, or null */
  uintptr_t uncaught; /* how many are thrown and not yet caught (32 bits used, the rest is zero) */
#if defined(__ARM_EABI__) && !defined(__ARM_DWARF_EH__) && !defined(__USING_SJLJ_EXCEPTIONS__)
  void* propagating; /* exceptions whose cleanups are running */
#endif
};

struct sennit_fp_keeper; /* sennit/fp_control.h */

/* What is a context's own and yet its thread's while it runs; kept in its stack while it is suspended. */
struct sennit_slow_state {
  struct sennit_exception_state exceptions;
  struct sennit_fp_keeper* keeper; /* null: it did not ask to keep its floating-point control state */
};

/* The slow path for non-zero exception globals begins and ends with these. The first takes the calling
 * thread's globals, and returns 0 if they were empty; the second puts them into the thread that calls it. */
uintptr_t sennit_slow_state_save(struct sennit_slow_state* saved);
void sennit_slow_state_restore(struct sennit_slow_state* saved);
/* Like sennit_slow_state_save(), for frames that will never resume. */
void sennit_slow_state_discard(void);

#ifdef __cplusplus
}
#endif
#endif
