/* The inline yield of C. Included by sennit.h only.
 *
 * It does what sennit::detail::yield does, step by step. Rare cases are calls that return before the switch:
 * a call that returns after it costs more than the switch. C sees the scheduler's types by their first
 * members; src/capi/yield.cpp ties each of them to its original.
 */
#ifndef SENNIT_DETAIL_CAPI_YIELD_H
#define SENNIT_DETAIL_CAPI_YIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sennit/detail/arch/context.h"
#include "sennit/detail/capi/ring.h"

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

/* A list of waiters is a ring; an empty one holds its own address. */
struct __attribute__((may_alias)) sennit_links {
  struct sennit_links* next;
  struct sennit_links* previous;
};

struct __attribute__((may_alias)) sennit_fiber_front {
  struct sennit_links links; /* in the list in which it waits */
  uintptr_t word;
  unsigned char flags[8];
  sennit_context context;
  struct sennit_fiber_front* next;
  struct sennit_fiber_front* joiner; /* of a local runtime's fiber */
  unsigned numbers[2];
  const char* reason;
  struct sennit_worker* home;
  void* frame;
  const void* object;
};

#define SENNIT_FLAG_STATUS 0
#define SENNIT_FLAG_OWNED 1
#define SENNIT_FLAG_STACKLESS 2 /* not 0: there is no context to enter yet */
#define SENNIT_FLAG_STOPPABLE 4
#define SENNIT_FLAG_SLOW_PATH 5
#define SENNIT_HAS_YIELD_CONTINUATION 2 /* a bit of that one */
#define SENNIT_FLAG_KIND 7              /* 0: a fiber itself */

struct __attribute__((may_alias)) sennit_worker_front {
  struct sennit_fiber_front* current;
  struct sennit_fiber_front* tail;
  struct sennit_fiber_front* next_slot; /* if not null, the next in the ring does not run next */
  struct {
    void* none;
    int budget;
    unsigned counts[4];
  } rest_of_queue;
  unsigned until_poll; /* while the runtime ends it is 1 */
  bool unwinding;
  unsigned short bias_number;
  void* stack;
  int* error_number;
  uint64_t now;
  uint64_t parks_at;
  struct sennit_fiber_front* idle;    /* finished fibers, linked by `next` */
  struct sennit_ring_front* parallel; /* null: of a local runtime */
};

/* The whole, out of line. */
int sennit_self_yield_call(void);
/* Its rare steps. A poll is due: returns SENNIT_YIELDS_SLOWLY if something outside needs to be looked at,
 * otherwise null, or, of a parallel runtime, the next fiber, which it makes current. */
struct sennit_fiber_front* sennit_self_yield_poll(struct sennit_worker* worker);
#define SENNIT_YIELDS_SLOWLY ((struct sennit_fiber_front*)1)
/* A scheduler step looks outside, and makes the switch. */
int sennit_self_yield_slow(struct sennit_worker* worker);
/* Returns the next fiber if it is not the next one in the ring, and makes it current. */
struct sennit_fiber_front* sennit_self_yield_rotate(struct sennit_worker* worker);
/* Where one that has no stack is to be entered. */
sennit_context sennit_self_yield_stack(struct sennit_worker* worker, struct sennit_fiber_front* next);

#if !defined(SENNIT_YIELD_BY_CALL)
/* Whether the caller is a fiber of a local runtime. False for some of them, whose until_poll is 1 as well. */
SENNIT_ALWAYS_INLINE bool sennit_in_local_fiber(void) {
  const struct sennit_worker_front* const worker = (const struct sennit_worker_front*)sennit_thread_worker();
  return __builtin_expect(worker != NULL && worker->current != NULL && worker->until_poll != 1, 1);
}
/* Whether the caller may be a fiber of a parallel runtime. */
SENNIT_ALWAYS_INLINE bool sennit_seems_parallel(void) {
  const struct sennit_worker_front* const worker = (const struct sennit_worker_front*)sennit_thread_worker();
  return worker != NULL && worker->until_poll == 1;
}
/* Whether the caller may use a local object without a wait. Not checked in code that is compiled without
 * assertions. */
SENNIT_ALWAYS_INLINE bool sennit_may_use_local(void) {
#if defined(NDEBUG)
  return true;
#else
  return sennit_in_local_fiber();
#endif
}
/* Enters `next`, which is current. */
SENNIT_ALWAYS_INLINE void sennit_self_yield_to(struct sennit_worker* running, struct sennit_fiber_front* self,
                                               struct sennit_fiber_front* next) {
  sennit_context to = next->context;
  if (__builtin_expect(next->flags[SENNIT_FLAG_STACKLESS] != 0, 0))
    to = sennit_self_yield_stack(running, next);
  (void)sennit_swapstack_saving(to, next->word, &self->context);
}
SENNIT_ALWAYS_INLINE int sennit_self_yield_parallel(struct sennit_worker* running) {
  struct sennit_worker_front* const worker = (struct sennit_worker_front*)running;
  struct sennit_fiber_front* const self = worker->current;
  struct sennit_fiber_front* next;
  if (sennit_ring_may_rotate(worker->parallel)) {
    next = sennit_ring_rotate(worker->parallel, self);
  } else {
    next = sennit_self_yield_poll(running);
    if (next == SENNIT_YIELDS_SLOWLY)
      return sennit_self_yield_slow(running);
  }
  if (next != self) {
    worker->current = next;
    sennit_self_yield_to(running, self, next);
    sennit_ring_arrived(((struct sennit_worker_front*)sennit_thread_worker())->parallel);
  }
  return 0;
}
#endif

SENNIT_ALWAYS_INLINE int sennit_self_yield_inline(void) {
#if defined(SENNIT_YIELD_BY_CALL)
  return sennit_self_yield_call();
#else
  struct sennit_worker* const running = sennit_thread_worker();
  struct sennit_worker_front* const worker = (struct sennit_worker_front*)running;
  struct sennit_fiber_front* self;
  struct sennit_fiber_front* next;
  if (__builtin_expect(worker == NULL, 0))
    return sennit_self_yield_call();
  sennit_should_hold_no_lock("yields", NULL);
  self = worker->current;
  if (__builtin_expect((self->flags[SENNIT_FLAG_SLOW_PATH] & SENNIT_HAS_YIELD_CONTINUATION) != 0, 0))
    return sennit_self_yield_slow(running);
  if (worker->parallel != NULL)
    return sennit_self_yield_parallel(running);
  if (__builtin_expect(--worker->until_poll == 0, 0) &&
      sennit_self_yield_poll(running) == SENNIT_YIELDS_SLOWLY)
    return sennit_self_yield_slow(running);
  if (__builtin_expect(worker->next_slot == NULL, 1)) {
    worker->tail = self;
    next = self->next;
    worker->current = next;
  } else {
    next = sennit_self_yield_rotate(running);
  }
  /* An earlier word resumes us: only a scheduler step makes a yielding fiber unwind. */
  if (next != self)
    sennit_self_yield_to(running, self, next);
  return 0;
#endif
}

#ifdef __cplusplus
}
#endif

#endif
