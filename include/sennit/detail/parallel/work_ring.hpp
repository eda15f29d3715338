// The run queue of a worker from which others steal: a bounded ring, and a next slot for the fiber that runs
// first.
//
//        head_ (the owner's next)            tail_          slot_
//          v                                  v               v
//   ... |  a  |  b  |  c  |  d  |  e  |  f  |     ...       |  g  |
//          \_____ a thief's _____/           indices only grow; an index's place = index % capacity
//
// The owner pushes and pops without an atomic read-modify-write. To pop, it claims an entry by a plain store,
// then looks at the steal word. (The oldest: head_ + 1; the newest: tail_ - 1; the next slot's: null.) A
// thief takes the steal word, then looks at the claim. Between its two steps, each has a fence, the owner's
// light, the thief's heavy. So one of the two sees the other. A thief that sees the claim does not take that
// entry. An owner that sees the thief waits until the thief has recorded what it took.
//
// The steal word:
//   idle   no theft since the owner last looked                set by the owner
//   busy   a thief, or the owner that skips the loot, holds    set by thieves from idle or left,
//          the word, and so the record of the loot             by the owner from left
//   left   the loot is recorded: the owner has yet to skip     set by thieves; the next one continues where
//          it                                                  the loot ends
//
// So the loot is always one range. It begins at the entry that the owner had claimed, or behind it, and the
// owner does not advance while it grows. If the claimed entry is in the loot, the owner has lost it. The loot
// may be empty, if a thief took only the next slot's occupant.
//
// There are three kinds of theft:
//   steal_half   never takes the newest entry: a quick owner is about to return to it
//   steal_lone   for an owner that has not dispatched for a moment: also takes an only entry
//   steal_late   for an owner that has not dispatched for long: takes everything, because the fiber that it
//                needs to continue may be in its next slot, or its newest entry
//
// The newest fiber may still be on its stack: an owner may push the fiber that it is about to leave, or put
// it into the next slot. So the owner marks the fiber as leaving before that, and clears the mark after it
// has left.
//
// Rejected: a head that owner and thieves advance by compare-and-swap (a locked instruction in every
// dispatch). A thief that only sets its word and leaves: either could then own the claimed entry. A next slot
// that thieves empty by a store: an owner that has claimed it could not tell from what it reads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/native_memory.hpp"

namespace sennit::inline v0_1::detail {

// T is copied and compared. Null (T()) means none. Capacity must be a power of two.
template <class T, std::size_t Capacity, class Memory = native_memory>
class work_ring {
  static_assert(Capacity >= 2 && (Capacity & (Capacity - 1)) == 0);
  using index = std::uint32_t;

public:
  static constexpr std::size_t capacity = Capacity;

  // ---- Only the owner. To take an entry, it may have to wait for a thief at work.

  // Returns false if the ring is full. Stolen entries count until the owner has skipped them.
  bool push(T item) noexcept {
    const index end = tail();
    if (end - head() == Capacity) [[unlikely]]
      return false;
    append(end, item);
    return true;
  }

  // Returns the oldest, or none.
  T pop() noexcept {
    const index mine = head();
    if (mine == tail())
      return T();
    head_.store(mine + 1, std::memory_order_relaxed);
    Memory::light_fence();
    if (steal_.load(std::memory_order_relaxed) == idle) [[likely]]
      return place(mine);
    return pop_contended(mine);
  }

  // One step round the ring: takes the oldest, and `item`, which is leaving, becomes the newest. Returns the
  // oldest. If the ring is empty, returns `item`, which then is not leaving. Precondition: Memory::prepare()
  // was true.
  SENNIT_INLINE T rotate(T item) noexcept {
    const index mine = head();
    const index end = tail();
    if (mine == end) [[unlikely]]
      return item;
    head_.store(mine + 1, std::memory_order_relaxed);
    Memory::free_fence();
    if (steal_.load(std::memory_order_relaxed) != idle) [[unlikely]]
      return rotate_contended(item);
    const T oldest = place(mine);
    if (oldest == item)
      __builtin_unreachable();  // the running fiber is not in the ring: saves a test
    mark_leaving(item);
    append(end, item);
    return oldest;
  }

  // The rest of rotate(), after a theft. The oldest entry is claimed.
  [[gnu::noinline, gnu::cold]] T rotate_contended(T item) noexcept {
    const T oldest = pop_contended(head() - 1);
    if (oldest == T())
      return item;
    mark_leaving(item);
    append(tail(), item);
    return oldest;
  }

  // Returns the newest, as newest() does, or none. If it was stolen, so were all others.
  T pop_newest() noexcept {
    if (owned() == 0)
      return T();
    const index mine = tail() - 1;
    tail_.store(mine, std::memory_order_release);  // a thief that reads it reads the entries below
    Memory::light_fence();
    if (steal_.load(std::memory_order_relaxed) == idle) [[likely]]
      return place(mine);
    return keeps_newest(mine) ? T{place(mine)} : T();
  }

  // Takes an item that is one of the `among` newest, if it is there. Those that are newer stay, in their
  // order. Returns whether it was there.
  bool take(T item, std::size_t among) noexcept {
    const auto some = static_cast<index>(owned() < among ? owned() : among);
    index newer = 0;
    while (newer != some && owned_from_newest(newer) != item)
      ++newer;
    return newer != some && take_behind(item, newer);
  }

  // By the owner's count: it may have been stolen.
  T newest() const noexcept { return owned() != 0 ? owned_from_newest(0) : T(); }
  T oldest() const noexcept { return owned() != 0 ? T{place(head())} : T(); }
  std::size_t owned() const noexcept { return tail() - head(); }
  // Grows by one with each push, and falls by one with each pop_newest.
  std::uint32_t end() const noexcept { return tail(); }

  // Puts an item into the next slot. Returns the former occupant, or none.
  T put_next_slot(T item) noexcept {
    const T displaced = take_next_slot();
    next_slot_.store(item, std::memory_order_release);
    return displaced;
  }

  // Returns the next slot's occupant, or none.
  T take_next_slot() noexcept {
    const T mine = next_slot_.load(std::memory_order_relaxed);
    if (mine == T())
      return mine;
    next_slot_.store(T(), std::memory_order_relaxed);
    Memory::light_fence();
    if (steal_.load(std::memory_order_relaxed) == idle) [[likely]]
      return mine;
    return keeps_next_slot() ? mine : T();
  }

  bool full() const noexcept { return owned() == Capacity; }
  // Returns the item that is probably next: the next slot's occupant, or the oldest.
  T seems_next() const noexcept {
    const T first = next_slot_.load(std::memory_order_relaxed);
    return first != T() ? first : oldest();
  }
  // Returns whether the next slot is occupied, by the owner's count: the occupant may have been stolen.
  bool next_slot_taken() const noexcept { return next_slot_.load(std::memory_order_relaxed) != T(); }

  // mark_leaving() marks an item that others must not take yet, before it is pushed or put into the next
  // slot. clear_leaving() clears the mark.
  void mark_leaving(T item) noexcept { leaving_.store(item, std::memory_order_release); }
  void clear_leaving() noexcept { leaving_.store(T(), std::memory_order_release); }

  // ---- Any other worker. A thief passes what it takes to `take`. The owner may be waiting meanwhile.

  // Returns how many entries the ring may have, without the next slot's: a cheap check before a theft. After
  // a heavy fence, it sees each push that the owner followed by an earlier light fence (sleepers.hpp).
  std::size_t might_have() const noexcept {
    const index end = tail();
    const index from =
        steal_.load(std::memory_order_relaxed) == left ? loot_end_.load(std::memory_order_relaxed) : head();
    const auto available = static_cast<std::int32_t>(end - from);
    return available > 0 ? static_cast<std::size_t>(available) : 0;
  }

  // Takes the older half of two or more entries, the oldest first. Returns how many. Also returns 0 while
  // another thief is at work.
  template <class Take>
  std::size_t steal_half(Take&& take) noexcept {
    return might_have() < 2 ? 0 : take_half(take);
  }

  // Takes the only entry, unless it is leaving; of several, the older half. Returns how many. Also returns 0
  // while another thief is at work.
  template <class Take>
  std::size_t steal_lone(Take&& take) noexcept {
    return might_have() == 0 ? 0 : take_half(take, true);
  }

  // Takes the next slot's occupant, then all entries of the ring, the oldest first, except one that is
  // leaving. Returns how many. Also returns 0 while another thief is at work.
  template <class Take>
  std::size_t steal_late(Take&& take) noexcept {
    return might_have() == 0 && !next_slot_taken() ? 0 : take_late(take);
  }

protected:
  T owned_from_newest(std::size_t newer) const noexcept {
    return T{place(tail() - 1 - static_cast<index>(newer))};
  }

  // Steals without the check before. Called directly only by the model checker, which then explores much
  // less.
  template <class Take>
  std::size_t take_half(Take& take, bool lone = false) noexcept {
    std::uint8_t found;
    if (!begin_theft(found))
      return 0;
    loot seen = see(found);
    if (lone && seen.count == 1)
      exclude_leaving(seen);
    const index count = lone && seen.count == 1 ? 1 : seen.count / 2;
    for (index i = seen.from; i != seen.from + count; ++i)
      take(T{place(i)});
    end_theft(found, seen.from, count, false);
    return count;
  }

  template <class Take>
  std::size_t take_late(Take& take) noexcept {
    std::uint8_t found;
    if (!begin_theft(found))
      return 0;
    const T occupant = next_slot_.load(std::memory_order_acquire);
    const bool from_slot =
        occupant != T() && !loot_next_slot_ && leaving_.load(std::memory_order_acquire) != occupant;
    if (from_slot)
      take(occupant);
    loot seen = see(found);
    exclude_leaving(seen);
    for (index i = seen.from; i != seen.from + seen.count; ++i)
      take(T{place(i)});
    end_theft(found, seen.from, seen.count, from_slot);
    return seen.count + (from_slot ? 1 : 0);
  }

private:
  friend struct work_ring_layout;  // in capi
  static constexpr std::uint8_t idle = 0;
  static constexpr std::uint8_t busy = 1;
  static constexpr std::uint8_t left = 2;

  using place_type = typename Memory::template plain<T>;
  place_type& place(index i) noexcept { return places_[i & (Capacity - 1)]; }
  const place_type& place(index i) const noexcept { return places_[i & (Capacity - 1)]; }

  // The owner reads the words that only it changes without further order.
  index head() const noexcept { return head_.load(std::memory_order_relaxed); }
  index tail() const noexcept { return tail_.load(std::memory_order_relaxed); }
  void append(index end, T item) noexcept {
    place(end) = item;
    tail_.store(end + 1, std::memory_order_release);
  }

  // ---- A thief.

  // Returns false if another thief is at work.
  bool begin_theft(std::uint8_t& found) noexcept {
    found = steal_.load(std::memory_order_relaxed);
    if (found == busy ||
        !steal_.compare_exchange_strong(found, busy, std::memory_order_acquire, std::memory_order_relaxed))
      return false;
    Memory::heavy_fence();
    return true;
  }

  struct loot {
    index from;
    index count;
  };
  // Returns the available range, without claims and earlier loot.
  loot see(std::uint8_t found) const noexcept {
    const index claimed = head();
    const index end = tail_.load(std::memory_order_acquire);
    const index from = found == left ? loot_end_.load(std::memory_order_relaxed) : claimed;
    const auto available = static_cast<std::int32_t>(end - from);
    return {from, available > 0 ? static_cast<index>(available) : 0};
  }

  // A fiber that is not leaving now has left: it was marked before it was pushed.
  void exclude_leaving(loot& seen) const noexcept {
    if (seen.count != 0 && leaving_.load(std::memory_order_acquire) == place(seen.from + seen.count - 1))
      --seen.count;
  }

  // Records what was taken.
  void end_theft(std::uint8_t found, index from, index count, bool from_slot) noexcept {
    if (count == 0 && !from_slot) {
      steal_.store(found, std::memory_order_release);
      return;
    }
    if (found != left)
      loot_begin_ = from;
    loot_end_.store(from + count, std::memory_order_relaxed);
    if (from_slot)
      loot_next_slot_ = true;
    steal_.store(left, std::memory_order_release);
  }

  // ---- The owner, if a thief was, or is, at work. keeps_...: true if the owner keeps its claimed entry.

  [[gnu::noinline, gnu::cold]] bool keeps_oldest(index mine) noexcept {
    if (!catch_up())
      return true;
    const index loot_end = loot_end_.load(std::memory_order_relaxed);
    const bool own = !is_loot(mine);
    skip_loot(loot_end != mine ? loot_end : mine + 1);
    return own;
  }

  [[gnu::noinline, gnu::cold]] T pop_contended(index mine) noexcept {
    return keeps_oldest(mine) ? T{place(mine)} : pop();
  }

  [[gnu::noinline, gnu::cold]] bool keeps_newest(index mine) noexcept {
    if (!catch_up())
      return true;
    const bool own = !is_loot(mine);
    if (!own)  // nothing is left
      tail_.store(mine + 1, std::memory_order_relaxed);
    skip_loot(loot_end_.load(std::memory_order_relaxed));
    return own;
  }

  [[gnu::noinline, gnu::cold]] bool keeps_next_slot() noexcept {
    if (!catch_up())
      return true;
    const bool own = !loot_next_slot_;
    skip_loot(loot_end_.load(std::memory_order_relaxed));
    return own;
  }

  // Returns true if there is loot: then the owner holds the steal word. Returns false if none was taken.
  bool catch_up() noexcept {
    for (;;) {
      std::uint8_t found = steal_.load(std::memory_order_relaxed);
      if (found == idle)
        return false;
      // By compare-and-swap, because another thief may be about to continue where the last one ended.
      if (found == left &&
          steal_.compare_exchange_strong(found, busy, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
      Memory::yield_thread();
    }
  }

  bool is_loot(index i) const noexcept {
    const index begin = loot_begin_;
    return i - begin < loot_end_.load(std::memory_order_relaxed) - begin;
  }

  void skip_loot(index begin) noexcept {
    head_.store(begin, std::memory_order_relaxed);
    if (loot_next_slot_) {
      next_slot_.store(T(), std::memory_order_relaxed);
      loot_next_slot_ = false;
    }
    steal_.store(idle, std::memory_order_release);
  }

  // The rest of take(). Thieves may have taken the item since, and some that are newer.
  bool take_behind(T item, index newer) noexcept {
    T last = pop_newest();
    if (newer == 0 || last == T())
      return last == item;
    const bool taken = take_behind(item, newer - 1);
    append(tail(), last);  // into its place, or one before
    return taken;
  }

  // Written by the owner, read by thieves.
  typename Memory::template atomic<index> head_{0};
  typename Memory::template atomic<index> tail_{0};
  typename Memory::template atomic<T> next_slot_{T()};
  typename Memory::template atomic<T> leaving_{T()};
  // Written by thieves.
  typename Memory::template atomic<std::uint8_t> steal_{idle};
  // Accessed by the holder of the steal word.
  typename Memory::template plain<bool> loot_next_slot_ = false;
  typename Memory::template plain<index> loot_begin_ = 0;
  typename Memory::template atomic<index> loot_end_{0};  // might_have also reads it
  place_type places_[Capacity] = {};
};

}  // namespace sennit::inline v0_1::detail
