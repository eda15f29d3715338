// A bias towards a worker: the fibers of that worker use an object without an atomic read-modify-write and
// without a fence. It stands before the object's lock, and takes its place for the owner.
//
// The bias word:
//
//   unbiased   the object's lock decides               from the beginning, or by a revoker; for ever
//   undecided  to be biased, and not used yet          from the beginning
//   a number   only that worker uses the object        by that worker, from `undecided`
//    + moved   a fiber of another worker has moved     by that fiber, from a number
//   revoking   a thread waits for the owner to leave   by that thread, from a number
//
// The owner enters by a store to `inside_`, then looks at the bias word. A revoker writes the bias word, then
// looks at `inside_`. Between its two steps, each has a fence, the owner's free, the revoker's heavy
// (membarrier). So one of the two sees the other. An owner that sees the revoker leaves, and waits until the
// word is `unbiased`. A revoker that sees the owner inside waits until it has left, as for any holder of a
// lock. It needs no help of an owner that is not inside.
//
// No two workers that exist have the same number. When a worker ends, a new one may get its number, and
// inherit the bias: the old thread has been joined before. Where membarrier is refused, workers have no
// number.
//
// Source: Dolan 2013, section 6.3 and Figure 5. There, a fiber of another worker moves to the
// owner's, and a conflict removes the bias. Here, only a fiber that has to wait moves: else locking a free
// mutex would be a switch. The paper's state takes a word of its own; this one two bytes, and one for
// `inside_`.
#pragma once

#include <atomic>
#include <cstdint>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/native_memory.hpp"
#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/arch/thread.h"
#include "sennit/detail/sched/worker.hpp"

namespace sennit::inline v0_1::detail {

// The calling thread's worker.
struct calling_worker {
  SENNIT_INLINE static std::uintptr_t number() noexcept { return sennit_thread_bias_number(); }
};

// Caller::number() is the number of the worker that calls, or 0.
template <class Memory = native_memory, class Caller = calling_worker>
class basic_bias {
public:
  using number = std::uint16_t;
  static constexpr number unbiased = 0;  // the cheapest to test for

  constexpr explicit basic_bias(bool wanted) noexcept : word_(wanted ? undecided : unbiased) {}

  // Before the object is entered. (`unbiased` is final.)
  number seen() const noexcept { return word_.load(std::memory_order_acquire); }
  // Between enter() or decide() and leave(), where it cannot have become `unbiased`; or with the object's
  // lock held: whether the caller has the lock, and not the bias.
  SENNIT_INLINE bool none() const noexcept { return word_.load(std::memory_order_relaxed) == unbiased; }

  // Returns true if the caller is the owner, and inside. Never for `unbiased`.
  SENNIT_INLINE bool enter(number seen) noexcept {
    if (((seen ^ Caller::number()) & ~std::uintptr_t{moved}) != 0) [[unlikely]]
      return false;
    inside_.store(true, std::memory_order_relaxed);
    Memory::free_fence();
    if (word_.load(std::memory_order_relaxed) == seen) [[likely]]
      return true;
    leave();
    return false;
  }
  SENNIT_INLINE void leave() noexcept { inside_.store(false, std::memory_order_release); }

  // Waits until the object is the caller's or unbiased: one that was never used becomes biased, or not;
  // another worker's bias is revoked. Returns true if the caller is the owner, and inside; false if the
  // object is unbiased.
  bool decide() noexcept {
    for (lock_pause<Memory> pause;;) {
      number now = seen();
      if (now == unbiased)
        return false;
      if (enter(now))
        return true;
      const auto mine = static_cast<number>(Caller::number());  // or `unbiased`
      if (now == undecided) {
        word_.compare_exchange_strong(now, mine, std::memory_order_relaxed, std::memory_order_relaxed);
      } else if (now == revoking) {
        pause();
      } else if ((now & ~moved) != mine &&
                 word_.compare_exchange_strong(now, revoking, std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
        Memory::heavy_fence();
        for (lock_pause<Memory> wait; inside_.load(std::memory_order_acquire);)
          wait();
        word_.store(unbiased, std::memory_order_release);
        return false;
      }
    }
  }

  // For a fiber that has to wait. Returns the number of the worker to which it moves first: the owner's, if
  // that is another one, and no fiber has moved yet; otherwise 0.
  number first_move() noexcept {
    number now = word_.load(std::memory_order_relaxed);
    const bool may = now != unbiased && now < undecided && now != Caller::number();
    return may && word_.compare_exchange_strong(now, now | moved, std::memory_order_relaxed,
                                                std::memory_order_relaxed)
               ? now
               : unbiased;
  }

private:
  static constexpr number undecided = most_bias_numbers + 1;
  static constexpr number revoking = undecided + 1;
  static constexpr number moved = 0x8000;
  static_assert(revoking < moved);

  typename Memory::template atomic<number> word_;
  typename Memory::template atomic<bool> inside_{false};
};

}  // namespace sennit::inline v0_1::detail
