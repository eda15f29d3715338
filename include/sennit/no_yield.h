/* Where a fiber is not made to yield: functions, and stretches of a fiber's run. C and C++.
 * room: sched
 *
 *   sennit_no_yield_begin();
 *   ++count, sum += value;  // no other fiber of this worker sees one without the other
 *   sennit_no_yield_end();
 *
 * Only code that is compiled with checks can be made to yield (docs/compiler.md), where a runtime has a time
 * slice. C++ has sennit::no_yield_guard, which ends with its scope.
 */
#ifndef SENNIT_NO_YIELD_H
#define SENNIT_NO_YIELD_H

/* A function in which no check is placed: neither in its own loops, nor in what is inlined into it.
 *
 *   SENNIT_NO_YIELD static void handle(int signal) { ... }
 *
 * What it calls has its checks: for all that, there is what follows. It goes before the whole declaration;
 * other compilers than clang, which place no checks, see nothing. */
#if defined(__clang__)
#define SENNIT_NO_YIELD __attribute__((annotate("sennit::no_yield")))
#else
#define SENNIT_NO_YIELD
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* From here to its end the calling fiber is not made to yield, whatever it calls; if that was due meanwhile,
 * it yields at the end. They are nested. Others run when it waits or yields by itself; it has still begun
 * when it goes on, wherever that is. Each begin has its end before the fiber's function ends. Outside of
 * fibers, nothing. errno is kept. */
void sennit_no_yield_begin(void);
void sennit_no_yield_end(void);

#ifdef __cplusplus
}
#endif
#endif
