/* A round trip to another context through five functions, none inlined, and back. `alive`: how many values
 * each of the five keeps alive over the call. Prints nanoseconds, the least of 60 runs. */
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "sennit/detail/arch/context.h"

#define NOINLINE __attribute__((noinline))

static sennit_context other; /* whoever does not run */

static void echo(sennit_context from, uintptr_t value, uintptr_t value1, uintptr_t value2, uintptr_t value3) {
  (void)value1, (void)value2, (void)value3;
  for (;;) {
    sennit_transfer got = sennit_swapstack(from, value);
    from = got.from;
    value = got.value;
  }
}

NOINLINE static long ask(long value) {
  sennit_transfer got = sennit_swapstack(other, (uintptr_t)value);
  other = got.from;
  return (long)got.value;
}

/* Distinct code at each depth: functions that are alike would be one. */
#define CHAIN(kept, before, after)                                                                       \
  NOINLINE static long fourth_##kept(long v) {                                                           \
    before(4) return ask(v) after(4);                                                                    \
  }                                                                                                      \
  NOINLINE static long third_##kept(long v) {                                                            \
    before(3) return fourth_##kept(v + 3) after(3);                                                      \
  }                                                                                                      \
  NOINLINE static long second_##kept(long v) {                                                           \
    before(2) return third_##kept(v + 2) after(2);                                                       \
  }                                                                                                      \
  NOINLINE static long first_##kept(long v) {                                                            \
    before(1) return second_##kept(v + 1) after(1);                                                      \
  }                                                                                                      \
  NOINLINE static long loop_##kept(long n) {                                                             \
    long sum = 0;                                                                                        \
    for (long i = 0; i < n; ++i)                                                                         \
      sum += first_##kept(i);                                                                            \
    return sum;                                                                                          \
  }                                                                                                      \
  static void deep_##kept(sennit_context from, uintptr_t v0, uintptr_t v1, uintptr_t v2, uintptr_t v3) { \
    (void)v0, (void)v1, (void)v2, (void)v3;                                                              \
    other = from;                                                                                        \
    for (;;)                                                                                             \
      loop_##kept(1L << 40);                                                                             \
  }

#define NOTHING(k)
#define ADD(k) +k
CHAIN(0, NOTHING, ADD)
#define ADD_GIVEN(k) +v* k
CHAIN(1, NOTHING, ADD_GIVEN)
/* In registers before the call, and none computed anew after it. */
#define FOUR(k)                                     \
  long a = v + k, b = v ^ (k + 8), c = v * (k + 2); \
  __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(v));
#define ADD_FOUR(k) +(a ^ b) * (c + v) + k
CHAIN(4, FOUR, ADD_FOUR)

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void measure(int alive, long (*loop)(long), sennit_entry entry, int deep) {
  alignas(64) static char stack[65536];
  const long n = 200000;
  double least = 1e18;
  other = sennit_newstack(stack + sizeof stack, entry);
  for (int run = 0; run < 60; ++run) {
    const double start = now();
    volatile long sum = loop(n);
    (void)sum;
    const double taken = (now() - start) / (double)n;
    if (taken < least)
      least = taken;
  }
  printf("%d %d %.2f\n", deep, alive, least);
}

int main(void) {
  measure(0, loop_0, echo, 0);
  measure(1, loop_1, echo, 0);
  measure(4, loop_4, echo, 0);
  measure(0, loop_0, deep_0, 1);
  measure(1, loop_1, deep_1, 1);
  measure(4, loop_4, deep_4, 1);
}
