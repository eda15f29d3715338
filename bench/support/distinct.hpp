// Fibers that all run one function at one depth flatter a switch: every return and indirect jump then goes
// where the last one went. Here are 128 different functions, the i-th of which does its work i % 8 calls
// deep.
#pragma once

#include <cstddef>
#include <utility>

#include "opaque.hpp"

namespace bench {

/// What a thread starts with, in C: as pthread_create, st_thread_create and pth_spawn take it.
using entry = void* (*)(void*);

inline constexpr std::size_t distinct_entries = 128;

namespace detail {

// The index in the assembly keeps the compiler from folding the instances into one, and being after the call
// it keeps the frame: no tail call, no loop.
template <class Body, unsigned Index>
BENCH_NOINLINE void at_depth(void* argument, unsigned depth) {
  if (depth == 0) {
    Body::run(argument);
  } else {
    at_depth<Body, Index>(argument, depth - 1);
  }
  asm volatile("" : : "i"(Index) : "memory");
}

template <class Body, unsigned Index>
void* distinct_entry(void* argument) {
  at_depth<Body, Index>(argument, opaque(Index % 8));
  return nullptr;
}

template <class Body, std::size_t... Index>
entry distinct_entry_at(std::size_t index, std::index_sequence<Index...>) {
  static constexpr entry table[] = {&distinct_entry<Body, Index>...};
  return table[index];
}

}  // namespace detail

/// The entry function of fiber number `index`: calls `Body::run(argument)` from a function of its own, at a
/// depth of its own. Declare `run` as `static BENCH_INLINE void`, or all fibers share its code. `Count`: how
/// many functions there are; they take the compiler most of its time.
template <class Body, std::size_t Count = distinct_entries>
entry distinct_entry(std::size_t index) {
  return opaque(detail::distinct_entry_at<Body>(index % Count, std::make_index_sequence<Count>()));
}

}  // namespace bench
