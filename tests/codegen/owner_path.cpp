// What a worker does at its own ring, and a fiber that yields to the next: nothing of it is to be an atomic
// read-modify-write.
#include "sennit/detail/parallel/work_ring.hpp"
#include "sennit/fiber.hpp"

using sennit::detail::fiber;
using ring = sennit::detail::work_ring<fiber*, 256>;

bool ring_push(ring& own, fiber* item) {
  return own.push(item);
}
fiber* ring_pop(ring& own) {
  return own.pop();
}
fiber* ring_pop_newest(ring& own) {
  return own.pop_newest();
}
fiber* ring_rotate(ring& own, fiber* item) {
  return own.rotate(item);
}
fiber* ring_put_next_slot(ring& own, fiber* item) {
  return own.put_next_slot(item);
}
fiber* ring_take_next_slot(ring& own) {
  return own.take_next_slot();
}

void parallel_yield_often(long count) {
  for (long i = 0; i < count; ++i)
    sennit::this_fiber::yield();
}
