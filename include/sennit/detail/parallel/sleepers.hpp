// The set of workers that sleep. A worker that has made work wakes one of them, and makes no system call if
// there is none.
//
// A worker marks itself asleep, then looks at every queue once more. A worker that makes work publishes it,
// then looks for sleepers. Between its two steps, each has a fence: light for the one that makes work, heavy
// for the one that goes to sleep. So one of the two sees the other. The waker, or the worker itself, clears a
// bit once, so a sleep costs at most one wake. If a wake comes after the worker has changed its mind, its
// driver keeps the wake, which ends the next sleep early. That is harmless.
#pragma once

#include <bit>
#include <cstdint>

#include "sennit/detail/arch/native_memory.hpp"

namespace sennit::inline v0_1::detail {

template <class Memory = native_memory>
class sleepers {
public:
  static constexpr unsigned most_workers = 64;
  static constexpr unsigned none = most_workers;

  // Called by the worker. Between the two calls it looks at every queue, and sleeps only if all are empty.
  void mark_asleep(unsigned number) noexcept {
    asleep_.fetch_or(bit(number), std::memory_order_relaxed);
    Memory::heavy_fence();
  }
  // It acquires so that it comes before whatever the worker does next. Otherwise, another thread could see
  // that the worker has taken a piece of work, and still choose it to be woken for the next one.
  void mark_awake(unsigned number) noexcept { asleep_.fetch_and(~bit(number), std::memory_order_acquire); }

  // Called by any thread after it has published work. Returns whether choose() may find a sleeper.
  bool any() const noexcept {
    Memory::light_fence();
    return seem_any();
  }
  // Like any(), without the fence: it may be too early to see a sleeper.
  bool seem_any() const noexcept { return asleep_.load(std::memory_order_relaxed) != 0; }
  bool sleeps(unsigned number) const noexcept {
    return (asleep_.load(std::memory_order_relaxed) & bit(number)) != 0;
  }
  unsigned count() const noexcept {
    return static_cast<unsigned>(std::popcount(asleep_.load(std::memory_order_relaxed)));
  }
  // Returns the worker that the caller must wake, or none.
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

}  // namespace sennit::inline v0_1::detail
