/* The inline lock and unlock of C. Included by sennit.h only.
 *
 * They know two states of the mutex's word, free and locked without waiters, as those of C++ do. All other
 * states are left to the functions. src/capi/sync.cpp makes the front, and a test looks at its word.
 */
#ifndef SENNIT_DETAIL_CAPI_MUTEX_H
#define SENNIT_DETAIL_CAPI_MUTEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sennit/detail/capi/park.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sennit_mutex;
int sennit_mutex_lock(struct sennit_mutex* mutex);
int sennit_mutex_unlock(struct sennit_mutex* mutex);

#define SENNIT_LOCAL_LOCKED 2
#define SENNIT_SHARED_LOCKED 4
#define SENNIT_OF_SHARED UINTPTR_MAX

/* Of a mutex, or of a condition. */
struct __attribute__((may_alias)) sennit_lock_front {
  size_t users; /* that wait in a local one */
  bool shared;
  uintptr_t* shared_word; /* only of a shared one */
  uintptr_t word;         /* of a local one; of a shared one SENNIT_OF_SHARED */
  struct sennit_links waiters;
};

#if !defined(SENNIT_YIELD_BY_CALL)

/* Whether the caller may be a fiber of a parallel runtime, whose workers have 1 there, which must not use a
 * local mutex. Not checked in code that is compiled without assertions. */
SENNIT_ALWAYS_INLINE bool sennit_may_be_parallel(void) {
#if defined(NDEBUG)
  return false;
#else
  return sennit_seems_parallel();
#endif
}

SENNIT_ALWAYS_INLINE bool sennit_mutex_change(struct sennit_mutex* mutex, bool locks) {
  struct sennit_lock_front* const front = (struct sennit_lock_front*)mutex;
  if (__builtin_expect(front == NULL, 0))
    return false;
  if (__builtin_expect(front->word == (locks ? 0 : SENNIT_LOCAL_LOCKED), 1)) {
    if (sennit_may_be_parallel())
      return false;
    front->word = locks ? SENNIT_LOCAL_LOCKED : 0;
    return true;
  }
  if (front->word == SENNIT_OF_SHARED) {
    uintptr_t expected = locks ? 0 : SENNIT_SHARED_LOCKED;
    return __atomic_compare_exchange_n(front->shared_word, &expected, locks ? SENNIT_SHARED_LOCKED : 0, false,
                                       locks ? __ATOMIC_ACQUIRE : __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  }
  return false;
}

SENNIT_ALWAYS_INLINE int sennit_mutex_lock_inline(struct sennit_mutex* mutex) {
  return sennit_mutex_change(mutex, true) ? 0 : sennit_mutex_lock(mutex);
}

SENNIT_ALWAYS_INLINE int sennit_mutex_unlock_inline(struct sennit_mutex* mutex) {
  return sennit_mutex_change(mutex, false) ? 0 : sennit_mutex_unlock(mutex);
}

#endif

#ifdef __cplusplus
}
#endif

#endif
