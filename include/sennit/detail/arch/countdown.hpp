// Counts what one thread does, down to where it is to do something else, while others look how far it has
// come.
//
// One word: the lower half is how often it still may, the upper half what the count will be by then. So
// others read both at once, and the owner counts with one instruction on the lower half where there is such
// (a load, an addition, a store and a comparison with a limit beside it are four; measured: 0.1 ns of a
// yield's 2.5).
#pragma once

#include <atomic>
#include <cstdint>

#include "sennit/detail/arch/inline.hpp"

#if defined(__x86_64__) && !defined(__ILP32__)
#define SENNIT_COUNTS_IN_MEMORY 1
#endif

namespace sennit::inline v0_1::detail {

class countdown {
public:
  // `first`: 1 or more.
  explicit countdown(std::uint32_t first) noexcept : word_(pack(first, first)) {}

  // ---- The owner.

  // One more. True: it was the last; then let_go_on() must be next.
  SENNIT_INLINE bool count() noexcept {
#if defined(SENNIT_COUNTS_IN_MEMORY)
    bool last;
    asm("subl $1, %0" : "+m"(word_), "=@ccz"(last));
    return last;
#else
    const std::uint64_t now = word_.load(std::memory_order_relaxed) - 1;
    word_.store(now, std::memory_order_relaxed);
    return left(now) == 0;
#endif
  }
  // Whether the next one is the last.
  SENNIT_INLINE bool next_is_last() const noexcept {
#if defined(SENNIT_COUNTS_IN_MEMORY)
    bool last;  // not by a load of the whole word: it would have to wait for the half that was written
    asm("cmpl $1, %1" : "=@ccz"(last) : "m"(word_));
    return last;
#else
    return left(word_.load(std::memory_order_relaxed)) == 1;
#endif
  }
  // The last one was none.
  void take_back() noexcept {
    word_.store(word_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // So often from now on: 1 or more.
  void restart(std::uint32_t times) noexcept {
    word_.store(pack(value() + times, times), std::memory_order_relaxed);
  }

  // ---- Any thread.

  std::uint32_t value() const noexcept {
    const std::uint64_t now = word_.load(std::memory_order_relaxed);
    return static_cast<std::uint32_t>(now >> 32) - left(now);
  }

private:
  static constexpr std::uint64_t pack(std::uint32_t at_last, std::uint32_t times) noexcept {
    return std::uint64_t{at_last} << 32 | times;
  }
  static constexpr std::uint32_t left(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word);
  }

  std::atomic<std::uint64_t> word_;
};

}  // namespace sennit::inline v0_1::detail
