// The run queue of a worker that others steal from: a bounded ring, first in, first out.
//
//        head_ (the owner's next)            tail_
//          v                                  v
//   ... |  a  |  b  |  c  |  d  |  e  |  f  |     ...        indices grow for ever; slot = index % capacity
//          \_____ a thief's _____/
//
// The owner pushes and pops without an atomic read-modify-write. To pop it claims its next slot by a plain
// store, then looks at the steal word; a thief takes the steal word, then looks at the claim. Between the two
// steps of each lies a fence, the owner's light, the thief's heavy (a compiler barrier and a membarrier,
// where there is one): one of the two sees the other. A thief that has seen the claim takes what lies behind
// it; an owner that has seen the thief waits until it has written down what it took.
//
// The steal word:
//   idle   nobody has stolen since the owner last looked       set by the owner
//   busy   a thief is at work, or the owner goes round the     set by thieves from idle or left,
//          loot: loot_ is its own                              by the owner from left
//   left   loot_ says which slots are gone: the owner has      set by thieves; the next one goes on where
//          yet to go round them                                it ended
//
// So loot_ is always one stretch: it begins at the slot the owner had claimed or behind it, and the owner
// stands still while it grows. Whether the claimed slot is in it tells the owner whose that slot is.
//
// Rejected: a head that owner and thieves advance by compare-and-swap (a locked instruction in every
// dispatch); two ends, LIFO for the owner (unfair); a thief that only sets its word and leaves: the claimed
// slot could then belong to either.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sennit/detail/arch/native_memory.hpp"

namespace sennit::detail {

// T is copied; null (T()) stands for none. Capacity: a power of two.
template <class T, std::size_t Capacity, class Memory = native_memory>
class work_ring {
  static_assert(Capacity >= 2 && (Capacity & (Capacity - 1)) == 0);
  using index = std::uint32_t;

public:
  static constexpr std::size_t capacity = Capacity;

  // ---- The owner alone.

  // False: full. Slots that were stolen count until the owner's next pop.
  bool push(T item) noexcept {
    if (end_ - begin_ == Capacity) [[unlikely]]
      return false;
    slot(end_) = item;
    tail_.store(++end_, std::memory_order_release);
    return true;
  }

  // The oldest, or none. Waits for a thief that is at work.
  T pop() noexcept {
    while (begin_ != end_) {
      const index mine = begin_;
      head_.store(mine + 1, std::memory_order_relaxed);
      Memory::light_fence();
      if (steal_.load(std::memory_order_relaxed) == idle) [[likely]] {
        begin_ = mine + 1;
        return slot(mine);
      }
      if (go_round(mine))
        return slot(mine);
    }
    return T();
  }

  // How many there are, less what was stolen since the last pop.
  std::size_t most_left() const noexcept { return end_ - begin_; }

  // ---- Any other worker.

  // Takes the older half, if there are two or more; hands each to `take`, the oldest first. Returns how many.
  // 0 also while another thief is at work.
  template <class Take>
  std::size_t steal_half(Take&& take) noexcept {
    std::uint8_t found = steal_.load(std::memory_order_relaxed);
    if (found == busy ||
        !steal_.compare_exchange_strong(found, busy, std::memory_order_acquire, std::memory_order_relaxed))
      return 0;
    Memory::heavy_fence();
    const index claimed = head_.load(std::memory_order_relaxed);
    const index tail = tail_.load(std::memory_order_acquire);
    const index from = found == left ? index{loot_end_} : claimed;
    const auto available = static_cast<std::int32_t>(tail - from);
    if (available < 2) {
      steal_.store(found, std::memory_order_release);
      return 0;
    }
    const index count = static_cast<index>(available) / 2;
    for (index i = from; i != from + count; ++i)
      take(T{slot(i)});
    if (found != left)
      loot_begin_ = from;
    loot_end_ = from + count;
    steal_.store(left, std::memory_order_release);
    return count;
  }

private:
  static constexpr std::uint8_t idle = 0;
  static constexpr std::uint8_t busy = 1;
  static constexpr std::uint8_t left = 2;

  using slot_type = typename Memory::template plain<T>;
  slot_type& slot(index i) noexcept { return slots_[i & (Capacity - 1)]; }

  // There was, or is, a thief. True: the claimed slot is the owner's.
  [[gnu::noinline, gnu::cold]] bool go_round(index mine) noexcept {
    for (;;) {
      std::uint8_t found = steal_.load(std::memory_order_relaxed);
      if (found == idle) {  // it found too little
        begin_ = mine + 1;
        return true;
      }
      // By compare-and-swap, since another thief may be about to go on where the last one has ended.
      if (found == left &&
          steal_.compare_exchange_strong(found, busy, std::memory_order_acquire, std::memory_order_relaxed))
        break;
      Memory::give_way();
    }
    const index loot_end = loot_end_;
    const bool own = loot_begin_ != mine;  // else it begins behind the claim
    begin_ = loot_end;
    head_.store(loot_end, std::memory_order_relaxed);
    steal_.store(idle, std::memory_order_release);
    return own;
  }

  // The owner's.
  index begin_ = 0;
  index end_ = 0;
  // Written by the owner, read by thieves.
  typename Memory::template atomic<index> head_{0};
  typename Memory::template atomic<index> tail_{0};
  // Written by thieves.
  typename Memory::template atomic<std::uint8_t> steal_{idle};
  typename Memory::template plain<index> loot_begin_ = 0;  // under the steal word
  typename Memory::template plain<index> loot_end_ = 0;
  slot_type slots_[Capacity] = {};
};

}  // namespace sennit::detail
