/* Machine contexts for C: the smallest building block of threads.
 * room: arch
 *
 *   static struct sennit_mctx home, worker;         // zeroed
 *   static char stack[65536];
 *
 *   static void count(void* step) {
 *     for (int i = 0;; i += *(int*)step) {
 *       printf("%d\n", i);
 *       sennit_mctx_switch(&worker, &home);
 *     }
 *   }
 *
 *   int step = 7;
 *   if (sennit_mctx_create(&worker, count, &step, stack, sizeof stack, 0) != 0)
 *     abort();
 *   sennit_mctx_switch(&home, &worker);             // prints 0
 *   sennit_mctx_switch(&home, &worker);             // prints 7
 *
 * It behaves identically on every CPU; the backend of context.h implements create and switch
 * (docs/platforms.md). Link as described in sennit.h, from C11 or C++. In strict C11, define
 * _POSIX_C_SOURCE as 200809L, or more, before the first header.
 *
 * A context is running, or suspended (by create or switch) and resumed once, or saved (by save) and resumed
 * any number of times while the function that saved it has not returned.
 *
 * save returns twice, as setjmp does. It is sigsetjmp, with every backend, because in C nothing else may
 * return twice into a frame that has continued. Thus the rules of setjmp about callers and variables apply.
 * A switch is each backend's own, and its caller's variables are preserved as over a function call. To
 * resume a context more than once, write instead of a switch
 *
 *   if (sennit_mctx_save(&from) == 0)
 *     sennit_mctx_restore(&to);
 *
 * A created context begins once. The code of the source named below allows more: it restores the created
 * context again, and so calls start(argument) again. But the second call's frames lie where those of the
 * first are, and overwrite them. That is right only if the first call never continues, and nothing can
 * check it. So the second resume ends the program with a message here. To call the function again, call
 * sennit_mctx_create again: it allocates nothing, and except with the signal stack backend makes no system
 * call without SENNIT_MCTX_MASK.
 *
 * Ownership: the struct and the stack belong to the caller. Both stay where they are until the context has
 * left for good. Nothing is allocated, and nothing need be destroyed. What the frames of an abandoned
 * context own is lost. A stack may be reused once its contexts will not be resumed; the last one that ran
 * on it must have left by restore or switch.
 *
 * Threads: any. A suspended context may be resumed on another thread, a saved one only where libc allows it
 * for jump buffers (all libcs of Linux do). One thread at a time uses a struct.
 *
 * To resume a context that is running, or none, ends the program with a message, except that a switch from
 * a struct to itself does nothing. A copy of a struct is not recognized. A stack need not be aligned.
 *
 * AddressSanitizer and ThreadSanitizer support switch, but save and restore within one stack only.
 *
 * Source: Engelschall 2000, section 2.1 (the proposed API).
 */
#ifndef SENNIT_MCTX_H
#define SENNIT_MCTX_H

#if defined(__STRICT_ANSI__) && !defined(__cplusplus) && !defined(_POSIX_C_SOURCE) && \
    !defined(_XOPEN_SOURCE) && !defined(_GNU_SOURCE)
#error "sennit: mctx.h needs POSIX: define _POSIX_C_SOURCE as 200809L before the first header"
#endif

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

#include "sennit/detail/arch/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A context. Zero it before its first use, unless that is sennit_mctx_create. The members are private. */
struct sennit_mctx {
  sennit_context context; /**< suspended by create or switch; null: running, or `saved` */
  unsigned char saved;    /**< `place` is valid: 1 once, 2 any number of times */
  unsigned char keeps;    /**< the options of sennit_mctx_create() */
  void (*start)(void*);   /**< the function of a created context */
  void* argument;         /**< its argument */
  int error;              /**< errno, if the context keeps it */
  uint64_t fp_control;    /**< the floating-point control state, if the context keeps it */
  sigset_t mask;          /**< the signal mask, if the context keeps it */
  sigjmp_buf place;       /**< where the context was saved */
};

/** The context has a signal mask of its own, at first that of the thread that creates it. Its mask is saved
 * when it leaves and set when it is resumed. So is that of a context with which it takes turns, from that
 * one's first switch to this one on. Other contexts run with the mask of their thread, except that the
 * ucontext backend keeps one for each.
 */
#define SENNIT_MCTX_MASK 1

/** The context has a floating-point control state of its own (sennit/fp_control.h: rounding and the like),
 * in the same way.
 */
#define SENNIT_MCTX_FP_CONTROL 2

/** The context has an errno of its own: it finds the value that it left, whatever others did meanwhile. */
#define SENNIT_MCTX_ERRNO 4

/** Makes a context that calls start(argument) when it is resumed for the first time, on the stack of `size`
 * bytes at `stack`. `start` must not return, nor let an exception out: the program ends. `options` is 0, or
 * a sum of SENNIT_MCTX_ constants. errno is preserved.
 *
 * Returns 0. -EINVAL: null pointers, unknown options, or fewer bytes than sennit_mctx_least_stack(). With
 * the signal stack backend also -EPERM (called on the thread's alternate signal stack) and -EAGAIN (too
 * many signals pending).
 *
 * Add room for the frames of `start`, and for signal handlers without an alternate stack: 16 KiB is tight,
 * 64 KiB is comfortable.
 */
int sennit_mctx_create(struct sennit_mctx* mctx, void (*start)(void* argument), void* argument, void* stack,
                       size_t size, int options);

/** Returns how many bytes of a stack sennit_mctx_create itself needs. With the signal stack backend the
 * kernel decides.
 */
size_t sennit_mctx_least_stack(void);

/** int sennit_mctx_save(struct sennit_mctx* mctx): saves the running context and returns 0. Each time `mctx`
 * is resumed, it returns again, with 1. It is a macro, and may be used where setjmp may be: as the whole
 * condition of an if or a loop, compared with a constant or not, or as a statement.
 */
#define sennit_mctx_save(mctx) sigsetjmp(sennit_mctx_note_saved(mctx)->place, 0)

/** Resumes a suspended or saved context, and never returns. The running context is left for good, or until
 * what it saved is restored. No C++ exception may be being handled or thrown.
 */
__attribute__((noreturn)) void sennit_mctx_restore(struct sennit_mctx* mctx);

/** Suspends the running context into `from` and resumes `to`. Returns when `from` is resumed. Each context
 * may be handling exceptions of its own, unless `to` is a saved one.
 */
SENNIT_ALWAYS_INLINE void sennit_mctx_switch(struct sennit_mctx* from, struct sennit_mctx* to);

/* ---- Private from here on. ---- */

/** Notes that the context is saved, and returns it. */
struct sennit_mctx* sennit_mctx_note_saved(struct sennit_mctx* mctx);
/** A switch that is not a simple one. */
void sennit_mctx_switch_slowly(struct sennit_mctx* from, struct sennit_mctx* to);

SENNIT_ALWAYS_INLINE void sennit_mctx_switch(struct sennit_mctx* from, struct sennit_mctx* to) {
  const sennit_context target = to->context;
  if (__builtin_expect(target != NULL && (from->keeps | to->keeps) == 0, 1)) {
    to->context = NULL;
    from->saved = 0;
    sennit_swapstack_saving(target, (uintptr_t)to, &from->context);
  } else {
    sennit_mctx_switch_slowly(from, to);
  }
}

#ifdef __cplusplus
}
#endif
#endif
