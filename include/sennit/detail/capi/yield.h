/* The inline yield of C. Included by sennit.h only.
 *
 * It is what sennit::local::this_fiber::yield does when nothing is in the way, and a call of that when
 * something is. C sees the scheduler's types by their first members; src/capi/yield.cpp ties each of them to
 * its original.
 */
#ifndef SENNIT_DETAIL_CAPI_YIELD_H
#define SENNIT_DETAIL_CAPI_YIELD_H

#include "sennit/detail/arch/context.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SENNIT_YIELD_BY_CALL 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SENNIT_YIELD_BY_CALL 1
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct __attribute__((may_alias)) sennit_fiber_front {
  sennit_context context;
  uintptr_t word;
  void* waits[2];
  struct sennit_fiber_front* next;
};

struct __attribute__((may_alias)) sennit_worker_front {
  struct sennit_fiber_front* current;
  struct sennit_fiber_front* tail;
  struct sennit_fiber_front* slot; /* not null: the next in the ring is not who is to run */
  uintptr_t rest_of_queue[4];
  void* stack;
  unsigned until_poll; /* while the runtime ends it is 1 */
};

int sennit_self_yield_call(void);

SENNIT_ALWAYS_INLINE int sennit_self_yield_inline(void) {
#if !defined(SENNIT_YIELD_BY_CALL)
  struct sennit_worker_front* worker = (struct sennit_worker_front*)sennit_thread_worker();
  struct sennit_fiber_front* self;
  struct sennit_fiber_front* next;
  if (__builtin_expect(worker != NULL && worker->until_poll > 1 && worker->slot == NULL, 1)) {
    --worker->until_poll;
    self = worker->current;
    next = self->next;
    worker->tail = self;
    worker->current = next;
    if (next != self) {
      /* Nobody but a decider tells a fiber to unwind, so who resumes us has nothing to say. */
      self->word = 0;
      (void)sennit_swapstack_saving(next->context, next->word, &self->context);
    }
    return 0;
  }
#endif
  return sennit_self_yield_call();
}

#ifdef __cplusplus
}
#endif

#endif
