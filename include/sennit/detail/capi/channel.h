/* The inline send and receive of C. Included by sennit.h only.
 *
 * Here are those of elements of 8 bytes: all of a local channel until it is closed, and those of a shared one
 * that find its buffer and its lock free. All others are calls (wait.h). A waiter's word is the address of
 * its element, and then says that it was served. src/capi/channel.cpp ties the front to its original.
 */
#ifndef SENNIT_DETAIL_CAPI_CHANNEL_H
#define SENNIT_DETAIL_CAPI_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sennit/detail/capi/park.h"
#include "sennit/detail/capi/wait.h"

#ifdef __cplusplus
extern "C" {
#endif

struct __attribute__((may_alias)) sennit_channel_front {
  size_t users; /* that wait in a local channel */
  bool shared;
  struct sennit_links receivers;
  struct sennit_links senders;
  size_t element_size;
  size_t capacity;
  char* places;
  size_t first;
  size_t count;
  bool closed;
  unsigned char is_inline; /* if elements have 8 bytes, until it is closed: one of the following */
  bool locked;             /* of a shared channel: its lock, for all others but `users` and `shared` */
};

#define SENNIT_CHANNEL_LOCAL 1
#define SENNIT_CHANNEL_SHARED 2
#define SENNIT_CHANNEL_DONE 1

#if !defined(SENNIT_YIELD_BY_CALL)

/* The compiler must not warn of 8 bytes where it sees a smaller element: that channel is not inline. */
#define SENNIT_MAY_HAVE_8_BYTES(element) (__builtin_object_size(element, 0) >= 8)

SENNIT_ALWAYS_INLINE void sennit_channel_push(struct sennit_channel_front* to, const void* element) {
  const size_t place = to->first + to->count;
  __builtin_memcpy(to->places + (place < to->capacity ? place : place - to->capacity) * 8, element, 8);
  ++to->count;
}
SENNIT_ALWAYS_INLINE void sennit_channel_pop(struct sennit_channel_front* from, void* element) {
  __builtin_memcpy(element, from->places + from->first * 8, 8);
  from->first = from->first + 1 == from->capacity ? 0 : from->first + 1;
  --from->count;
}

/* Locks a shared channel, if no waiter seems to be at the other end, and if its buffer seems to have what is
 * wanted. Look again: others may have changed it before. */
SENNIT_ALWAYS_INLINE bool sennit_channel_lock(struct sennit_channel_front* channel,
                                              const struct sennit_links* others, bool sends) {
  const size_t count = __atomic_load_n(&channel->count, __ATOMIC_RELAXED);
  return __builtin_expect((sends ? count < channel->capacity : count != 0) &&
                              __atomic_load_n(&others->next, __ATOMIC_RELAXED) == others &&
                              !__atomic_exchange_n(&channel->locked, true, __ATOMIC_ACQUIRE),
                          1);
}
SENNIT_ALWAYS_INLINE void sennit_channel_unlock(struct sennit_channel_front* channel) {
  __atomic_store_n(&channel->locked, false, __ATOMIC_RELEASE);
}
SENNIT_ALWAYS_INLINE bool sennit_channel_send_shared(struct sennit_channel_front* to, const void* element) {
  bool done;
  if (!sennit_channel_lock(to, &to->receivers, true))
    return false;
  done = to->is_inline != 0 && to->count < to->capacity && sennit_is_empty(&to->receivers);
  if (done)
    sennit_channel_push(to, element);
  sennit_channel_unlock(to);
  return done;
}
SENNIT_ALWAYS_INLINE bool sennit_channel_receive_shared(struct sennit_channel_front* from, void* element) {
  bool done;
  if (!sennit_channel_lock(from, &from->senders, false))
    return false;
  done = from->is_inline != 0 && from->count != 0 && sennit_is_empty(&from->senders);
  if (done)
    sennit_channel_pop(from, element);
  sennit_channel_unlock(from);
  return done;
}

/* The caller waits in one of the channel's lists. */
SENNIT_ALWAYS_INLINE int sennit_channel_park(struct sennit_channel_front* channel,
                                             struct sennit_worker_front* worker, struct sennit_links* list,
                                             const void* element, const char* reason) {
  uintptr_t word;
  worker->current->word = (uintptr_t)element;
  sennit_push_last(list, worker->current);
  ++channel->users;
  word = sennit_park(worker, reason, &channel->receivers);
  --channel->users;
  if (sennit_unwinds())
    word = sennit_park_at_end(word);
  return word == SENNIT_CHANNEL_DONE ? 0 : -EPIPE;
}

SENNIT_ALWAYS_INLINE int sennit_channel_send_inline(struct sennit_channel* channel, const void* element) {
  struct sennit_channel_front* const to = (struct sennit_channel_front*)channel;
  struct sennit_worker_front* worker;
  struct sennit_fiber_front* receiver;
  struct sennit_wait wait;
  unsigned char kind = 0;
  if (__builtin_expect(to != NULL && element != NULL, 1) && SENNIT_MAY_HAVE_8_BYTES(element))
    kind = __atomic_load_n(&to->is_inline, __ATOMIC_RELAXED);
  if (kind == SENNIT_CHANNEL_LOCAL) {
    if (!sennit_is_empty(&to->receivers)) {
      receiver = sennit_pop_fiber(&to->receivers);
      if (receiver != NULL) {
        __builtin_memcpy((void*)receiver->word, element, 8);
        receiver->word = SENNIT_CHANNEL_DONE;
        sennit_wake(receiver);
        return 0;
      }
    } else if (to->count < to->capacity) {
      if (sennit_may_use_local()) {
        sennit_channel_push(to, element);
        return 0;
      }
    } else {
      worker = sennit_may_park();
      if (worker != NULL)
        return sennit_channel_park(to, worker, &to->senders, element, "channel send");
    }
  }
  if (kind == SENNIT_CHANNEL_SHARED && sennit_channel_send_shared(to, element))
    return 0;
  return sennit_finish_wait(sennit_channel_begin_send(channel, element, &wait), &wait);
}

SENNIT_ALWAYS_INLINE int sennit_channel_receive_inline(struct sennit_channel* channel, void* element) {
  struct sennit_channel_front* const from = (struct sennit_channel_front*)channel;
  struct sennit_worker_front* worker;
  struct sennit_fiber_front* sender;
  struct sennit_wait wait;
  unsigned char kind = 0;
  if (__builtin_expect(from != NULL && element != NULL, 1) && SENNIT_MAY_HAVE_8_BYTES(element))
    kind = __atomic_load_n(&from->is_inline, __ATOMIC_RELAXED);
  if (kind == SENNIT_CHANNEL_LOCAL) {
    if (!sennit_is_empty(&from->senders)) {
      sender = from->count == 0 ? sennit_pop_fiber(&from->senders) : NULL;
      if (sender != NULL) {
        __builtin_memcpy(element, (const void*)sender->word, 8);
        sender->word = SENNIT_CHANNEL_DONE;
        sennit_wake(sender);
        return 0;
      }
    } else if (from->count != 0) {
      if (sennit_may_use_local()) {
        sennit_channel_pop(from, element);
        return 0;
      }
    } else {
      worker = sennit_may_park();
      if (worker != NULL)
        return sennit_channel_park(from, worker, &from->receivers, element, "channel receive");
    }
  }
  if (kind == SENNIT_CHANNEL_SHARED && sennit_channel_receive_shared(from, element))
    return 0;
  return sennit_finish_wait(sennit_channel_begin_receive(channel, element, &wait), &wait);
}

#endif

#ifdef __cplusplus
}
#endif

#endif
