// Barriers that hide a value, an object or a function from the optimiser, at the cost of no instruction.
#pragma once

#include <cstdint>

#if defined(__clang__)
#define BENCH_NOINLINE __attribute__((noinline))
#else
#define BENCH_NOINLINE __attribute__((noinline, noclone))
#endif
#define BENCH_INLINE inline __attribute__((always_inline))

namespace bench {

/// Returns `value`, which the compiler no longer knows: a pointer may point anywhere, a function be any
/// function.
template <class T>
BENCH_INLINE T opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

/// Everything in memory may have been read and changed here.
BENCH_INLINE void touch_memory() {
  asm volatile("" ::: "memory");
}

/// Uses `value`, so that its computation cannot be dropped.
template <class T>
BENCH_INLINE void consume(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

}  // namespace bench
