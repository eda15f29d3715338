/* Machine contexts out of the verbs, and of sigsetjmp where a context is saved. */
#undef _FORTIFY_SOURCE /* before the first header: its longjmp refuses to leave for another stack */

#include "sennit/mctx.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sennit/errno.h" /* a switch may lead to another thread */
#include "sennit/fp_control.h"

#if defined(SENNIT_BACKEND_SIGNALSTACK)
#define LEAST_STACK sennit_signalstack_least()
#else
#define LEAST_STACK ((size_t)SENNIT_RECORD_SIZE + 1024) /* `begin`, and what aligning may cost */
#endif

/* Values of `saved`. */
enum { saved_once = 1, saved_for_ever = 2 };

__attribute__((noreturn)) static void die(const char* what) {
  fprintf(stderr, "sennit: mctx: %s\n", what);
  abort();
}

SENNIT_UNSANITIZED static void save_what_it_keeps(struct sennit_mctx* mctx) {
  if (mctx->keeps & SENNIT_MCTX_MASK)
    pthread_sigmask(SIG_SETMASK, NULL, &mctx->mask);
  if (mctx->keeps & SENNIT_MCTX_FP_CONTROL)
    mctx->fp_control = sennit_fp_control_get();
  if (mctx->keeps & SENNIT_MCTX_ERRNO)
    mctx->error = errno;
}

/* A context that switch or create suspended does this itself, when it is resumed: ucontext brings a mask of
 * its own back. */
SENNIT_UNSANITIZED static void set_what_it_keeps(const struct sennit_mctx* mctx) {
  if (mctx->keeps & SENNIT_MCTX_MASK)
    pthread_sigmask(SIG_SETMASK, &mctx->mask, NULL);
  if (mctx->keeps & SENNIT_MCTX_FP_CONTROL)
    sennit_fp_control_set(mctx->fp_control);
  if (mctx->keeps & SENNIT_MCTX_ERRNO)
    errno = mctx->error;
}

/* A context's first function. `to` is the word that it was resumed with: the target. */
SENNIT_UNSANITIZED static void begin(sennit_context from, uintptr_t to, uintptr_t unused1, uintptr_t unused2,
                                     uintptr_t unused3) {
  const struct sennit_mctx* const mctx = (const struct sennit_mctx*)to;
  (void)from, (void)unused1, (void)unused2, (void)unused3;
  set_what_it_keeps(mctx);
  mctx->start(mctx->argument);
  die("a start function returned");
}

size_t sennit_mctx_least_stack(void) {
  return LEAST_STACK;
}

/* Writes where frames that never returned may lie. */
SENNIT_UNSANITIZED int sennit_mctx_create(struct sennit_mctx* mctx, void (*start)(void*), void* argument,
                                          void* stack, size_t size, int options) {
  if (mctx == NULL || start == NULL || stack == NULL || size < LEAST_STACK ||
      (options & ~(SENNIT_MCTX_MASK | SENNIT_MCTX_FP_CONTROL | SENNIT_MCTX_ERRNO)) != 0)
    return -EINVAL;
#if defined(SENNIT_BACKEND_SIGNALSTACK)
  const int error = sennit_signalstack_make(&mctx->context, stack, size, begin);
  if (error != 0)
    return -error;
#elif defined(SENNIT_BACKEND_UCONTEXT)
  mctx->context = sennit_ucontext_make(stack, size, begin);
#else
  mctx->context = sennit_newstack((void*)(((uintptr_t)stack + size) & ~(uintptr_t)15), begin);
#endif
  mctx->saved = 0;
  mctx->start = start;
  mctx->argument = argument;
  mctx->keeps = (unsigned char)options;
  if (options != 0)
    save_what_it_keeps(mctx);
  return 0;
}

struct sennit_mctx* sennit_mctx_note_saved(struct sennit_mctx* mctx) {
  mctx->context = NULL;
  mctx->saved = saved_for_ever;
  save_what_it_keeps(mctx);
  return mctx;
}

/* Resumes what switch did not suspend. */
__attribute__((noreturn)) SENNIT_UNSANITIZED static void jump(struct sennit_mctx* mctx) {
  const int saved = mctx->saved;
  if (saved == 0)
    die("resumed a context that is running, or was never made");
  if (saved == saved_once)
    mctx->saved = 0;
  set_what_it_keeps(mctx);
  siglongjmp(mctx->place, 1);
}

SENNIT_UNSANITIZED void sennit_mctx_restore(struct sennit_mctx* mctx) {
  const sennit_context context = mctx->context;
  if (context == NULL)
    jump(mctx);
  mctx->context = NULL;
  sennit_leave(context, (uintptr_t)mctx);
}

/* Where one of the two keeps something, or to a saved context. */
SENNIT_UNSANITIZED void sennit_mctx_switch_slowly(struct sennit_mctx* from, struct sennit_mctx* to) {
  const sennit_context target = to->context;
  from->keeps |= to->keeps;
  save_what_it_keeps(from);
  if (target != NULL) {
    to->context = NULL;
    from->saved = 0;
    sennit_swapstack_saving(target, (uintptr_t)to, &from->context);
    set_what_it_keeps(from);
    return;
  }
  from->context = NULL;
  from->saved = saved_once;
  if (sigsetjmp(from->place, 0) == 0)
    jump(to);
}
