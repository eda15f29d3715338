/* The inline send and receive of C. Included by sennit.h only.
 *
 * Here are a send into, and a receive from, the buffer of a local channel whose elements have 8 bytes, when
 * no fiber waits at the other end. All others are calls (wait.h). src/capi/channel.cpp ties the front to its
 * original.
 */
#ifndef SENNIT_DETAIL_CAPI_CHANNEL_H
#define SENNIT_DETAIL_CAPI_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sennit/detail/capi/wait.h"

#ifdef __cplusplus
extern "C" {
#endif

struct __attribute__((may_alias)) sennit_channel_front {
  bool shared;
  void* receivers[2]; /* an empty list holds its own address */
  void* senders[2];
  size_t element_size;
  size_t capacity;
  char* places;
  size_t first;
  size_t count;
  bool closed;
  bool is_inline; /* never of a shared channel, whose other members belong to a lock */
};

#if !defined(SENNIT_YIELD_BY_CALL)

/* The compiler must not warn of 8 bytes where it sees a smaller element: that channel is not inline. */
#define SENNIT_MAY_HAVE_8_BYTES(element) (__builtin_object_size(element, 0) >= 8)

SENNIT_ALWAYS_INLINE int sennit_channel_send_inline(struct sennit_channel* channel, const void* element) {
  struct sennit_channel_front* const to = (struct sennit_channel_front*)channel;
  struct sennit_wait wait;
  if (__builtin_expect(to != NULL && element != NULL, 1) && SENNIT_MAY_HAVE_8_BYTES(element) &&
      to->is_inline && to->count < to->capacity && !to->closed && to->receivers[0] == (void*)to->receivers &&
      sennit_in_local_fiber()) {
    const size_t place = to->first + to->count;
    __builtin_memcpy(to->places + (place < to->capacity ? place : place - to->capacity) * 8, element, 8);
    ++to->count;
    return 0;
  }
  return sennit_finish_wait(sennit_channel_begin_send(channel, element, &wait), &wait);
}

SENNIT_ALWAYS_INLINE int sennit_channel_receive_inline(struct sennit_channel* channel, void* element) {
  struct sennit_channel_front* const from = (struct sennit_channel_front*)channel;
  struct sennit_wait wait;
  if (__builtin_expect(from != NULL && element != NULL, 1) && SENNIT_MAY_HAVE_8_BYTES(element) &&
      from->is_inline && from->count != 0 && from->senders[0] == (void*)from->senders &&
      sennit_in_local_fiber()) {
    __builtin_memcpy(element, from->places + from->first * 8, 8);
    from->first = from->first + 1 == from->capacity ? 0 : from->first + 1;
    --from->count;
    return 0;
  }
  return sennit_finish_wait(sennit_channel_begin_receive(channel, element, &wait), &wait);
}

#endif

#ifdef __cplusplus
}
#endif

#endif
