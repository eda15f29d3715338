/* The inline acquire and release of C. Included by sennit.h only.
 *
 * They know the word of a local semaphore without waiters: twice the number of permits. All others are calls.
 */
#ifndef SENNIT_DETAIL_CAPI_SEMAPHORE_H
#define SENNIT_DETAIL_CAPI_SEMAPHORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sennit/detail/capi/yield.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sennit_semaphore;
int sennit_semaphore_acquire(struct sennit_semaphore* semaphore);
int sennit_semaphore_release(struct sennit_semaphore* semaphore, size_t permits);

#define SENNIT_LOCAL_WAITED_FOR 1 /* or its waiters have left */
#define SENNIT_LOCAL_PERMIT 2

struct __attribute__((may_alias)) sennit_semaphore_front {
  uintptr_t* word;
  bool shared;
};

#if !defined(SENNIT_YIELD_BY_CALL)

SENNIT_ALWAYS_INLINE int sennit_semaphore_acquire_inline(struct sennit_semaphore* semaphore) {
  struct sennit_semaphore_front* const front = (struct sennit_semaphore_front*)semaphore;
  if (__builtin_expect(front != NULL, 1) && !front->shared && sennit_in_local_fiber()) {
    const uintptr_t word = *front->word;
    if (__builtin_expect(word >= SENNIT_LOCAL_PERMIT && (word & SENNIT_LOCAL_WAITED_FOR) == 0, 1)) {
      *front->word = word - SENNIT_LOCAL_PERMIT;
      return 0;
    }
  }
  return sennit_semaphore_acquire(semaphore);
}

SENNIT_ALWAYS_INLINE int sennit_semaphore_release_inline(struct sennit_semaphore* semaphore, size_t permits) {
  struct sennit_semaphore_front* const front = (struct sennit_semaphore_front*)semaphore;
  if (__builtin_expect(front != NULL && permits <= SIZE_MAX / 8, 1) && !front->shared &&
      (*front->word & SENNIT_LOCAL_WAITED_FOR) == 0 && !sennit_seems_parallel()) {
    *front->word += permits * SENNIT_LOCAL_PERMIT;
    return 0;
  }
  return sennit_semaphore_release(semaphore, permits);
}

#endif

#ifdef __cplusplus
}
#endif

#endif
