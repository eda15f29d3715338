// In which order a select tries its cases: each order with the same probability. Thus each of the cases that
// can be done is chosen with the same probability, whichever they are. If the order were a rotation, a case
// would be chosen for all those before it that cannot be done.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/thread.h"

namespace sennit::inline v0_1::detail {

// A random fraction of `count`: the upper half is the number below `count`, the lower half what is left. It
// is the next one of the thread's linear congruential generator. A program cannot be in step with it, as with
// a counter.
SENNIT_INLINE std::uint64_t random_part_of(std::size_t count) noexcept {
  std::uint64_t& state = sennit_thread_self()->select_choice;
  state = state * 6364136223846793005 + 1;
  return (state >> 32) * count;
}

// Calls attempt(number) for each number below `Count`, until it returns true. Returns that number, or `none`.
// Of three numbers, a first one and a direction are any order.
template <std::size_t Count, class Attempt>
SENNIT_INLINE std::size_t try_few(std::size_t none, Attempt attempt) {
  static_assert(Count <= 3);
  if constexpr (Count == 1) {
    return attempt(0) ? 0 : none;
  } else {
    const std::uint64_t scaled = random_part_of(Count);
    auto number = static_cast<std::size_t>(scaled >> 32);
    const std::size_t step = Count == 2 ? 1 : 1 + (scaled >> 31 & 1);
    for (std::size_t left = Count; left != 0; --left) {
      if (attempt(number))
        return number;
      number += step;
      if (number >= Count)
        number -= Count;
    }
    return none;
  }
}

// As try_few(), for `count` numbers. `order` has each of them once, and is shuffled as far as they are tried.
template <class Number, class Attempt>
SENNIT_INLINE std::size_t try_many(Number* order, std::size_t count, std::size_t none, Attempt attempt) {
  for (std::size_t tried = 0; tried != count; ++tried) {
    std::swap(order[tried], order[tried + static_cast<std::size_t>(random_part_of(count - tried) >> 32)]);
    if (attempt(std::size_t{order[tried]}))
      return order[tried];
  }
  return none;
}

template <std::size_t Count>
constexpr auto numbers_below() noexcept {
  static_assert(Count <= 256);
  std::array<std::uint8_t, Count> all{};
  for (std::size_t i = 0; i != Count; ++i)
    all[i] = static_cast<std::uint8_t>(i);
  return all;
}

}  // namespace sennit::inline v0_1::detail
