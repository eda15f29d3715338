/* Places in which a fiber is not made to yield: functions, and parts of a fiber's run. C and C++.
 * room: sched
 *
 *   sennit_no_yield_begin();
 *   ++count, sum += value;  // no other fiber of this worker sees one without the other
 *   sennit_no_yield_end();
 *
 * Only code that is compiled with checks can be made to yield (docs/explanation/preemption.md), and only if
 * its runtime has a time slice. In C++ there is sennit::no_yield_guard, which ends with its scope.
 */
#ifndef SENNIT_NO_YIELD_H
#define SENNIT_NO_YIELD_H

/** Marks a function in which no check is placed: neither in its own loops, nor in code that is inlined into
 * it.
 *
 *   SENNIT_NO_YIELD static void handle(int signal) { ... }
 *
 * Functions that it calls have their checks; to prevent those, use the functions below. Write it before the
 * whole declaration. It is empty for compilers other than clang, which place no checks.
 */
#if defined(__clang__)
#define SENNIT_NO_YIELD __attribute__((annotate("sennit::no_yield")))
#else
#define SENNIT_NO_YIELD
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** From here to its end the calling fiber is not made to yield, whatever it calls. The pairs may be nested,
 * and each ends before the fiber's function ends. Other fibers still run when the fiber waits or yields by
 * itself; the effect continues when it resumes, on whichever worker. It has no effect outside of fibers.
 * errno is preserved.
 */
void sennit_no_yield_begin(void);
/** Ends what the last sennit_no_yield_begin began, and yields if that was due meanwhile. errno is preserved.
 */
void sennit_no_yield_end(void);

#ifdef __cplusplus
}
#endif
#endif
