/* A round trip to another context and back, through five functions of which none is inlined, with values kept
 * alive by each of them over the call; the other context switches at the same depth, or in its loop. */
#include <stdalign.h>

#include "measure.h"
#include "sennit/detail/arch/context.h"

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

static void measure_chain(const char* name, loop* go, sennit_entry entry) {
  alignas(64) static char stack[65536];
  other = sennit_newstack(stack + sizeof stack, entry);
  measure(name, go);
}

int main(void) {
  measure_chain("the other in its loop, no value alive", loop_0, echo);
  measure_chain("the other in its loop, 1 value alive", loop_1, echo);
  measure_chain("the other in its loop, 4 values alive", loop_4, echo);
  measure_chain("the other at the same depth, no value alive", loop_0, deep_0);
  measure_chain("the other at the same depth, 1 value alive", loop_1, deep_1);
  measure_chain("the other at the same depth, 4 values alive", loop_4, deep_4);
}
