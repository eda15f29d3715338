// Which workers sleep: who has made work wakes one, and makes no system call while none does.
//
// A worker says that it will sleep, then looks at every queue once more; who makes work publishes it, then
// looks whether somebody sleeps. Between the two steps of each lies a fence, light for who makes work, heavy
// for who goes to sleep: one of the two sees the other. Each bit is cleared once, by the waker or by the
// worker itself, so a sleep costs one wake at most. A wake that comes too late, after the worker has changed
// its mind, is kept by its driver and ends its next sleep early: no harm.
#pragma once

#include <bit>
#include <cstdint>

#include "sennit/detail/arch/native_memory.hpp"

namespace sennit::detail {

template <class Memory = native_memory>
class sleepers {
public:
  static constexpr unsigned most_workers = 64;
  static constexpr unsigned none = most_workers;

  // The worker. Between the two it looks at every queue, and sleeps only when all are empty.
  void say_asleep(unsigned number) noexcept {
    asleep_.fetch_or(bit(number), std::memory_order_relaxed);
    Memory::heavy_fence();
  }
  void say_awake(unsigned number) noexcept { asleep_.fetch_and(~bit(number), std::memory_order_relaxed); }

  // Any thread, after it has published work: whether choose() may find one.
  bool any() const noexcept {
    Memory::light_fence();
    return seem_any();
  }
  // The same without the fence: it may come too early to see one.
  bool seem_any() const noexcept { return asleep_.load(std::memory_order_relaxed) != 0; }
  bool sleeps(unsigned number) const noexcept {
    return (asleep_.load(std::memory_order_relaxed) & bit(number)) != 0;
  }
  unsigned count() const noexcept {
    return static_cast<unsigned>(std::popcount(asleep_.load(std::memory_order_relaxed)));
  }
  // The worker that it must wake, or none.
  [[nodiscard]] unsigned choose() noexcept {
    Memory::light_fence();
    std::uint64_t seen = asleep_.load(std::memory_order_relaxed);
    while (seen != 0) {
      const std::uint64_t lowest = seen & (~seen + 1);
      if (asleep_.compare_exchange_weak(seen, seen & ~lowest, std::memory_order_relaxed,
                                        std::memory_order_relaxed))
        return static_cast<unsigned>(std::countr_zero(lowest));
    }
    return none;
  }

private:
  static constexpr std::uint64_t bit(unsigned number) noexcept { return std::uint64_t{1} << number; }
  typename Memory::template atomic<std::uint64_t> asleep_{0};
};

}  // namespace sennit::detail
