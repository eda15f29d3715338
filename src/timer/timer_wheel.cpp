// The wheel of deadlines.
#include "sennit/detail/timer/timer_wheel.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace sennit::inline v0_1::detail {

namespace {

static_assert(std::is_same_v<clock::period, std::nano> && sizeof(clock::rep) == 8);

// Makes times before the epoch smaller than those after it.
constexpr std::uint64_t sign = std::uint64_t{1} << 63;

// For the earliest deadline, at most this many nodes of a slot are inspected. If there are more, the start of
// the slot serves.
constexpr unsigned looked_at = 8;

void make_empty(timer_link& ring) noexcept {
  ring.next = ring.previous = &ring;
}

[[gnu::always_inline]] inline void push_back(timer_link& ring, timer_link& n) noexcept {
  timer_link* const last = ring.previous;
  n.previous = last;
  last->next = ring.previous = &n;
  n.next = &ring;
}

}  // namespace

timer_wheel::timer_wheel(time_point now) noexcept : position_(tick_of(now)) {
  for (timer_link& ring : rings_)
    make_empty(ring);
}

inline timer_wheel::tick timer_wheel::tick_of(time_point when) noexcept {
  return (static_cast<std::uint64_t>(when.time_since_epoch().count()) ^ sign) >> tick_bits;
}

inline time_point timer_wheel::time_of(tick t) noexcept {
  return time_point(clock::duration(static_cast<clock::rep>((t << tick_bits) ^ sign)));
}

inline void timer_wheel::place(timer_node& n) noexcept {
  const tick t = std::max(tick_of(n.when), position_);
  const unsigned level = (static_cast<unsigned>(std::bit_width((t ^ position_) | 1)) - 1) / slot_bits;
  const unsigned digit = (t >> (level * slot_bits)) % slots;
  push_back(rings_[level * slots + digit], n);
  occupied_[level] |= std::uint64_t{1} << digit;
  occupied_levels_ |= 1U << level;
}

inline void timer_wheel::vacate(std::size_t index) noexcept {
  const std::size_t level = index / slots;
  occupied_[level] &= ~(std::uint64_t{1} << index % slots);
  if (occupied_[level] == 0)
    occupied_levels_ &= ~(1U << level);
}

void timer_wheel::add(timer_node& n, time_point when) noexcept {
  assert(!n.linked());
  n.when = when;
  ++size_;
  if (when < earliest_) {
    earliest_ = when;
    stale_ = false;
  }
  place(n);
}

void timer_wheel::take_out(timer_node& n) noexcept {
  timer_link* const next = n.next;
  timer_link* const previous = n.previous;
  next->previous = previous;
  previous->next = next;
  n.next = nullptr;
  const bool last = next == previous;  // only the slot's own node is left
  if (last)
    vacate(static_cast<std::size_t>(next - rings_));
  if (--size_ == 0) {
    earliest_ = never;
    stale_ = false;
  } else if (last || n.when == earliest_) {
    stale_ = true;
  }
}

timer_wheel::slot timer_wheel::first_slot() const noexcept {
  const auto level = static_cast<unsigned>(std::countr_zero(occupied_levels_));
  const auto digit = static_cast<unsigned>(std::countr_zero(occupied_[level]));
  const unsigned shift = level * slot_bits;
  return {level, digit, (position_ >> shift >> slot_bits << slot_bits | digit) << shift};
}

time_point timer_wheel::find_earliest() const noexcept {
  if (due().next != &due())
    return time_point::min();
  if (occupied_levels_ == 0)
    return never;
  const slot first = first_slot();
  const timer_link& ring = rings_[first.index()];
  time_point least = never;
  unsigned seen = 0;
  for (const timer_link* l = ring.next; l != &ring; l = l->next) {
    // In the position's slot all nodes are inspected: its start is no time to wait for.
    if (first.start != position_ && ++seen > looked_at)
      return time_of(first.start);
    least = std::min(least, static_cast<const timer_node*>(l)->when);
    if (least <= earliest_)
      break;
  }
  return least;
}

timer_node* timer_wheel::take_first(time_point now) noexcept {
  if (due().next == &due()) {
    const time_point bound = gather(now);
    if (due().next == &due()) {
      earliest_ = std::max(bound, find_earliest());
      stale_ = false;
      return nullptr;
    }
  }
  auto* first = static_cast<timer_node*>(due().next);
  take_out(*first);
  stale_ = size_ != 0;  // the other due nodes are not known
  return first;
}

// The position moves to the first slot that has due nodes, and these move to the ring of the due. If there is
// none, it moves to now. Returns a time before which there is no deadline.
time_point timer_wheel::gather(time_point now) noexcept {
  const tick until = std::max(tick_of(now), position_);
  time_point bound = time_point::min();
  while (occupied_levels_ != 0) {
    const slot first = first_slot();
    if (first.start > until)
      break;
    if (first.level > 0) {
      bound = spread(first, until);
      continue;
    }
    position_ = first.start;
    if (first.start < until)
      move_all(first);
    else
      move_due(first, now);
    return bound;
  }
  position_ = until;
  return bound;
}

// Returns the earliest deadline. The slot is the first one, and its time has come. The position advances into
// it as far as possible, so that a node seldom spreads more than once.
time_point timer_wheel::spread(slot from, tick until) noexcept {
  timer_link& ring = rings_[from.index()];
  time_point least = never;
  for (const timer_link* l = ring.next; l != &ring; l = l->next)
    least = std::min(least, static_cast<const timer_node*>(l)->when);
  position_ = std::min(until, tick_of(least));
  vacate(from.index());
  for (timer_link* l = ring.next; l != &ring;) {
    timer_link* const next = l->next;
    place(static_cast<timer_node&>(*l));
    l = next;
  }
  make_empty(ring);
  return least;
}

void timer_wheel::move_due(slot from, time_point now) noexcept {
  timer_link& ring = rings_[from.index()];
  for (timer_link* l = ring.next; l != &ring;) {
    timer_link* const next = l->next;
    if (static_cast<timer_node*>(l)->when <= now) {
      l->previous->next = next;
      next->previous = l->previous;
      push_back(due(), *l);
    }
    l = next;
  }
  if (ring.next == &ring)
    vacate(from.index());
}

void timer_wheel::move_all(slot from) noexcept {
  timer_link& ring = rings_[from.index()];
  due() = ring;
  due().next->previous = due().previous->next = &due();
  make_empty(ring);
  vacate(from.index());
}

}  // namespace sennit::inline v0_1::detail
