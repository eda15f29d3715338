// How a wait detects a stop request, and the requester finds the wait. The states of the word:
//
//   0            no waiter
//   a stop_watch the waiter                       by the waiter, and back to 0, by compare-and-swap
//   1            its claim is being taken         by the requester, an exchange
//   2            the requester is done with it    by the requester, a store
//
// So a waiter is notified once. If its word was taken, it waits for the 2 before its frame ends.
#pragma once

#include <cstdint>

#include "sennit/detail/arch/native_memory.hpp"

namespace sennit::inline v0_1::detail {

template <class Memory = native_memory>
class basic_stop_word {
public:
  // Returns false if a stop was requested before.
  bool enter(std::uintptr_t who) noexcept {
    std::uintptr_t expected = no_waiter;
    return word_.compare_exchange_strong(expected, who, std::memory_order_release, std::memory_order_acquire);
  }
  // Returns false if a stop was requested meanwhile. Then the requester does not touch the waiter any more.
  bool leave(std::uintptr_t who) noexcept {
    if (word_.compare_exchange_strong(who, no_waiter, std::memory_order_relaxed, std::memory_order_relaxed))
      return true;
    while (word_.load(std::memory_order_acquire) != delivered)
      Memory::yield_thread();
    return false;
  }
  bool is_requested() const noexcept { return word_.load(std::memory_order_acquire) - 1 < delivered; }

  // Returns the waiter, or 0.
  std::uintptr_t begin_delivery() noexcept { return word_.exchange(delivering, std::memory_order_acq_rel); }
  void end_delivery() noexcept { word_.store(delivered, std::memory_order_release); }

private:
  static constexpr std::uintptr_t no_waiter = 0;
  static constexpr std::uintptr_t delivering = 1;
  static constexpr std::uintptr_t delivered = 2;
  typename Memory::template atomic<std::uintptr_t> word_{no_waiter};
};

}  // namespace sennit::inline v0_1::detail
