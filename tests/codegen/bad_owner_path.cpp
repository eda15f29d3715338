// What the check of owner_path.cpp must not let pass.
#include <atomic>

#include "sennit/detail/parallel/work_ring.hpp"
#include "sennit/fiber.hpp"

using sennit::detail::fiber;
using ring = sennit::detail::work_ring<fiber*, 256>;

// Before a light fence, behind one, and where there is none.
fiber* counts_before(ring& own, std::atomic<int>& count) {
  count.fetch_add(1, std::memory_order_relaxed);
  return own.pop();
}
fiber* claims_behind(ring& own, std::atomic<bool>& claimed) {
  fiber* const item = own.pop();
  bool expected = false;
  return item != nullptr && claimed.compare_exchange_strong(expected, true) ? item : nullptr;
}
fiber* exchanges(std::atomic<fiber*>& slot) {
  return slot.exchange(nullptr, std::memory_order_acquire);
}
void stores_in_one_order(std::atomic<fiber*>& slot, fiber* item) {
  slot.store(item);
}
bool makes_a_full_fence(ring& own, fiber* item) {
  const bool pushed = own.push(item);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return pushed;
}

void yields_and_counts(long count, std::atomic<long>& yields) {
  for (long i = 0; i < count; ++i) {
    sennit::this_fiber::yield();
    yields.fetch_add(1, std::memory_order_relaxed);
  }
}

// What is called might have one.
fiber* elsewhere(ring& own);
fiber* calls(ring& own) {
  fiber* const item = own.pop();
  return item != nullptr ? item : elsewhere(own);
}
