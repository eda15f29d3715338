/* One step round the ring of a parallel runtime's worker, inline in C: work_ring.hpp explains it. Included by
 * sennit.h only. src/capi/yield.cpp ties the front to its original.
 */
#ifndef SENNIT_DETAIL_CAPI_RING_H
#define SENNIT_DETAIL_CAPI_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(SENNIT_RING_CAPACITY) /* tests make it small */
#define SENNIT_RING_CAPACITY 256
#endif

struct sennit_fiber_front;

struct __attribute__((may_alias)) sennit_ring_front {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  uint32_t count_at_poll;
  uint32_t until_poll;
#else
  uint32_t until_poll; /* others read it */
  uint32_t count_at_poll;
#endif
  unsigned next_slot_left;
  bool direct;
  bool plain; /* fifo, and with free fences */
  uint32_t head;
  uint32_t tail;
  struct sennit_fiber_front* next_slot;
  struct sennit_fiber_front* leaving;
  uint8_t thief; /* 0: none was here */
  bool loot_next_slot;
  uint32_t loot_begin;
  uint32_t loot_end;
  struct sennit_fiber_front* places[SENNIT_RING_CAPACITY];
};

/* After a theft, with the oldest entry claimed: the rest of the step. Returns the next fiber, or `self`. */
struct sennit_fiber_front* sennit_ring_rotate_contended(struct sennit_ring_front* ring,
                                                        struct sennit_fiber_front* self);

/* Whether the step may be made now. If so, it is counted. */
static inline __attribute__((always_inline, unused)) bool sennit_ring_may_rotate(
    struct sennit_ring_front* ring) {
  if (__builtin_expect(!ring->plain || __atomic_load_n(&ring->next_slot, __ATOMIC_RELAXED) != NULL, 0))
    return false;
  if (__builtin_expect(--ring->until_poll != 0, 1))
    return true;
  ring->until_poll = 1;
  return false;
}

/* `self`, which leaves, becomes the newest entry. Returns the oldest, or `self` if there is none. */
static inline __attribute__((always_inline, unused)) struct sennit_fiber_front* sennit_ring_rotate(
    struct sennit_ring_front* ring, struct sennit_fiber_front* self) {
  const uint32_t mine = ring->head;
  const uint32_t end = ring->tail;
  struct sennit_fiber_front* oldest;
  if (__builtin_expect(mine == end, 0))
    return self;
  __atomic_store_n(&ring->head, mine + 1, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST); /* of a thief it is membarrier(2) */
  if (__builtin_expect(__atomic_load_n(&ring->thief, __ATOMIC_RELAXED) != 0, 0))
    return sennit_ring_rotate_contended(ring, self);
  oldest = ring->places[mine % SENNIT_RING_CAPACITY];
  __atomic_store_n(&ring->leaving, self, __ATOMIC_RELEASE);
  ring->places[end % SENNIT_RING_CAPACITY] = self;
  __atomic_store_n(&ring->tail, end + 1, __ATOMIC_RELEASE);
  return oldest;
}

/* After a switch. */
static inline __attribute__((always_inline, unused)) void sennit_ring_arrived(
    struct sennit_ring_front* ring) {
  __atomic_store_n(&ring->leaving, (struct sennit_fiber_front*)NULL, __ATOMIC_RELEASE);
}

#ifdef __cplusplus
}
#endif

#endif
