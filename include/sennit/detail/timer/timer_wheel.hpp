// Deadlines: a hierarchical timer wheel of nodes, which lie with their waiters. The cost of adding and
// removing does not depend on their number. Neither allocates, and neither can fail.
//
//   level 0   64 slots of one tick each: the ticks that differ from the position's in the last digit only
//   level 1   64 slots of 64 ticks: those that differ in the last digit but one, and maybe the last
//   ...       and so on; nine levels are all of time
//
// A tick is 2^14 ns (16 us); its number is read in digits of six bits. A node's level is where its tick first
// differs from the wheel's position, its slot the digit there. So all nodes of a level are later than the
// position, and every level is later than the ones below it. The earliest deadlines are in the first occupied
// slot of the first occupied level. Bitmaps find it; empty slots cost nothing, however far the clock jumps.
//
// The position moves to the first slot when its time has come. Its nodes spread over the levels below. At
// level 0, due nodes go to the ring of the due, from which they are handed out. The others stay until their
// exact nanosecond. A deadline before the position is put into the position's slot.
//
// A node moves down at most eight times, seldom more than once. But the nodes of one slot move all at the
// same time: a million take some 10 ms.
//
// Rejected: a heap, which allocates, is logarithmic, and moves nodes to which others refer. Slots modulo the
// round, with a list of nodes beyond the last level, which must be searched in each round.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "sennit/detail/arch/look.hpp"
#include "sennit/detail/timer/clock.hpp"

namespace sennit::inline v0_1::detail {

// A place in a ring: a node's, or a slot's own, which stands between last and first.
struct timer_link {
  timer_link* next = nullptr;  // null: in no ring
  timer_link* previous = nullptr;
};

// The node of a waiter. Do not move or destroy it while it is linked.
struct timer_node : timer_link {
  time_point when;

  bool linked() const { return next != nullptr; }
};

// One thread at a time may use it: the owner locks.
class timer_wheel {
public:
  static constexpr unsigned tick_bits = 14;
  static constexpr unsigned slot_bits = 6;
  static constexpr unsigned levels = (64 - tick_bits + slot_bits - 1) / slot_bits;

  // Deadlines before `now` count as equal.
  explicit timer_wheel(time_point now = clock::now()) noexcept;
  timer_wheel(const timer_wheel&) = delete;
  timer_wheel& operator=(const timer_wheel&) = delete;

  bool empty() const { return size_ == 0; }
  // For other threads; the answer may be wrong.
  SENNIT_UNSANITIZED bool seems_empty() const noexcept { return look(size_) == 0; }
  std::size_t size() const { return size_; }

  // Any time_point. A deadline in the past is due at once.
  void add(timer_node& n, time_point when) noexcept;

  // Does nothing if the node is not linked: handed out, or removed before.
  void remove(timer_node& n) noexcept {
    if (n.linked())
      take_out(n);
  }

  // Returns until when to sleep: never if empty, otherwise the earliest deadline, or a time before it. At
  // that time take_due() hands out a node, or learns a later deadline.
  time_point earliest() const noexcept {
    if (stale_) [[unlikely]] {
      earliest_ = find_earliest();
      stale_ = false;
    }
    return earliest_;
  }

  // Takes out and returns a node whose deadline has passed, or null. The order is that of their ticks, at
  // least. Nodes that were added with a past deadline come with those that were next at that time.
  timer_node* take_due(time_point now) noexcept {
    if (now < earliest_) [[likely]]
      return nullptr;
    return take_first(now);
  }

private:
  static constexpr unsigned slots = 1U << slot_bits;
  using tick = std::uint64_t;

  struct slot {
    unsigned level;
    unsigned digit;
    tick start;
    std::size_t index() const { return std::size_t{level} * slots + digit; }
  };

  static tick tick_of(time_point when) noexcept;
  static time_point time_of(tick t) noexcept;

  timer_link& due() noexcept { return rings_[levels * slots]; }
  const timer_link& due() const noexcept { return rings_[levels * slots]; }

  slot first_slot() const noexcept;
  time_point find_earliest() const noexcept;
  timer_node* take_first(time_point now) noexcept;
  void take_out(timer_node& n) noexcept;
  void place(timer_node& n) noexcept;
  void vacate(std::size_t index) noexcept;
  time_point gather(time_point now) noexcept;
  time_point spread(slot from, tick until) noexcept;
  void move_due(slot from, time_point now) noexcept;
  void move_all(slot from) noexcept;

  std::size_t size_ = 0;
  mutable time_point earliest_ = never;  // no deadline is before this one
  mutable bool stale_ = false;           // the node with that deadline may be gone
  std::uint32_t occupied_levels_ = 0;
  tick position_;
  // A bit per slot; the last word is never read.
  std::uint64_t occupied_[levels + 1] = {};
  timer_link rings_[levels * slots + 1];  // the last is the ring of the due
};

}  // namespace sennit::inline v0_1::detail
