// The waiters of a mutex or a condition variable that may be biased towards a worker: the fibers of that
// worker use it without an atomic read-modify-write and without a fence.
//
// The bias word:
//
//   unbiased   as low_lock_waiters.hpp, and no more    from the beginning, or by a revoker; for ever
//   undecided  to be biased, and not used yet          from the beginning
//   a number   only that worker uses the waiters       by that worker, from `undecided`
//    + moved   a fiber of another worker has moved     by that fiber, from a number
//   revoking   a thread waits for the owner to leave   by that thread, from a number
//
// The owner enters by a store to `inside_`, then looks at the bias word. A revoker writes the bias word, then
// looks at `inside_`. Between its two steps, each has a fence, the owner's free, the revoker's heavy
// (membarrier). So one of the two sees the other. An owner that sees the revoker leaves, and waits until the
// word is `unbiased`. A revoker that sees the owner inside waits until it has left, as for any holder of the
// lock. It needs no help of an owner that is not inside.
//
// The owner does not set the bit `locked` of low_lock_waiters, because `inside_` has that meaning. The rest
// of that word is valid at all times, so a revocation leaves nothing to convert: a mutex that is locked
// remains locked. If its holder has moved to another worker, its unlock() revokes the bias.
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
#include "sennit/detail/sync/lock_header.hpp"
#include "sennit/detail/sync/low_lock_waiters.hpp"

namespace sennit::inline v0_1::detail {

// The calling thread's worker.
struct calling_worker {
  SENNIT_INLINE static std::uintptr_t number() noexcept { return sennit_thread_bias_number(); }
};

// Used as described in basic_wait_queue.hpp. Caller::number() is the number of the worker that calls, or 0.
template <class Memory = native_memory, class Caller = calling_worker,
          class Waiters = basic_low_lock_waiters<Memory>>
class basic_biased_waiters : public lock_header {
public:
  using state = std::uintptr_t;
  using number = std::uint16_t;

  constexpr explicit basic_biased_waiters(const wait_options& how, state initial = 0) noexcept
      : lock_header(how), bias_(how.bias ? undecided : unbiased), kept_(initial) {}

  // Also fails if the calling worker is not the owner: then it has to decide under the lock.
  SENNIT_INLINE bool change_quickly(state from, state to, std::memory_order order) noexcept {
    const number seen = bias_.load(std::memory_order_acquire);
    if (seen == unbiased) [[unlikely]]
      return kept_.change(from, to, order);
    if (!enter(seen)) [[unlikely]]
      return false;
    const bool may = kept_.change_as_only(from, to);
    leave();
    return may;
  }
  state peek(std::memory_order order) const noexcept { return kept_.peek(order); }
  bool quiet() const noexcept { return kept_.quiet(); }

  // Decides: an object that was never used becomes biased, or not; another worker's bias is revoked.
  SENNIT_INLINE state lock() noexcept {
    if (bias_.load(std::memory_order_acquire) == unbiased) [[likely]]
      return kept_.lock();
    return lock_by_bias();
  }
  // (The bias word cannot have become `unbiased` since an owner has entered.)
  SENNIT_INLINE void unlock(state now, bool changed) noexcept {
    const bool inside = bias_.load(std::memory_order_relaxed) != unbiased;
    if (!inside) [[likely]]
      return kept_.unlock(now, changed);
    kept_.unlock_as_only(now);
    leave();
  }
  waiter_list& list() noexcept { return kept_.list(); }
  void push(waiter& w) noexcept { kept_.push(w); }

  // For a fiber that has to wait. Returns the number of the worker to which it moves first: the owner's, if
  // that is another one, and no fiber has moved yet; otherwise 0.
  number first_move() noexcept {
    number seen = bias_.load(std::memory_order_relaxed);
    const bool may = seen != unbiased && seen < undecided && seen != Caller::number();
    return may && bias_.compare_exchange_strong(seen, seen | moved, std::memory_order_relaxed,
                                                std::memory_order_relaxed)
               ? seen
               : unbiased;
  }

private:
  static constexpr number unbiased = 0;  // the cheapest to test for
  static constexpr number undecided = most_bias_numbers + 1;
  static constexpr number revoking = undecided + 1;
  static constexpr number moved = 0x8000;
  static_assert(revoking < moved);

  // Returns true if the caller is the owner, and inside.
  SENNIT_INLINE bool enter(number seen) noexcept {
    if (((seen ^ Caller::number()) & ~std::uintptr_t{moved}) != 0) [[unlikely]]
      return false;
    inside_.store(true, std::memory_order_relaxed);
    Memory::free_fence();
    if (bias_.load(std::memory_order_relaxed) == seen) [[likely]]
      return true;
    leave();
    return false;
  }
  SENNIT_INLINE void leave() noexcept { inside_.store(false, std::memory_order_release); }

  [[gnu::noinline]] state lock_by_bias() noexcept { return decide() ? kept_.lock_as_only() : kept_.lock(); }
  // Returns true if the caller is the owner, and inside; false if the object is unbiased.
  bool decide() noexcept {
    for (lock_pause<Memory> pause;;) {
      number seen = bias_.load(std::memory_order_acquire);
      if (seen == unbiased)
        return false;
      if (enter(seen))
        return true;
      const auto mine = static_cast<number>(Caller::number());  // or `unbiased`
      if (seen == undecided) {
        bias_.compare_exchange_strong(seen, mine, std::memory_order_relaxed, std::memory_order_relaxed);
      } else if (seen == revoking) {
        pause();
      } else if ((seen & ~moved) != mine &&
                 bias_.compare_exchange_strong(seen, revoking, std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
        Memory::heavy_fence();
        for (lock_pause<Memory> wait; inside_.load(std::memory_order_acquire);)
          wait();
        bias_.store(unbiased, std::memory_order_release);
        return false;
      }
    }
  }

  typename Memory::template atomic<bool> inside_{false};
  typename Memory::template atomic<number> bias_;
  Waiters kept_;
};

using biased_waiters = basic_biased_waiters<>;

}  // namespace sennit::inline v0_1::detail
