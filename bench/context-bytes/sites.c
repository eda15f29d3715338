/* Contexts that suspend themselves at different sites: how much of their stacks is kept while they are
 * suspended. Prints "site<tab>bytes" for each: from the top of the stack down to the handle, but for the red
 * zone that the switch leaves alone, which nobody uses there. */
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>

#include "sennit/detail/arch/context.h"

#define NOINLINE __attribute__((noinline))
#define ENTRY(name) \
  static void name(sennit_context from, uintptr_t v0, uintptr_t v1, uintptr_t v2, uintptr_t v3)
#define UNUSED (void)v0, (void)v1, (void)v2, (void)v3

static volatile long in, out;
static sennit_context other; /* who resumed us */

/* ---- In the function that the context entered. */

ENTRY(nothing_alive) {
  UNUSED;
  for (;;)
    from = sennit_swapstack(from, 0).from;
}

ENTRY(one_alive) {
  UNUSED;
  for (long count = in;; ++count) {
    from = sennit_swapstack(from, 0).from;
    out = count;
  }
}

ENTRY(four_alive) {
  UNUSED;
  for (;;) {
    const long a = in, b = in, c = in, d = in;
    from = sennit_swapstack(from, 0).from;
    out = a, out = b, out = c, out = d;
  }
}

ENTRY(ten_alive) {
  UNUSED;
  for (;;) {
    const long a = in, b = in, c = in, d = in, e = in, f = in, g = in, h = in, i = in, j = in;
    from = sennit_swapstack(from, 0).from;
    out = a, out = b, out = c, out = d, out = e, out = f, out = g, out = h, out = i, out = j;
  }
}

/* ---- In one that it has called: nothing is alive there. */

NOINLINE static void ask(void) {
  other = sennit_swapstack(other, 0).from;
}

ENTRY(called) {
  UNUSED;
  other = from;
  for (;;) {
    ask();
    out = 1;
  }
}

/* ---- In the fifth that has been called, with a value alive in each. */

NOINLINE static long fourth(long v) {
  ask();
  return v + 4;
}
NOINLINE static long third(long v) {
  return fourth(v + 1) + v * 3;
}
NOINLINE static long second(long v) {
  return third(v + 2) + v * 5;
}
NOINLINE static long first(long v) {
  return second(v + 3) + v * 7;
}

ENTRY(five_deep) {
  UNUSED;
  other = from;
  for (;;)
    out = first(in);
}

/* ---- */

static long bytes_of(sennit_entry entry) {
  alignas(64) static char stack[16384];
  char* const top = stack + sizeof stack;
  sennit_context made = sennit_newstack(top, entry);
  made = sennit_swapstack(made, 0).from;
  made = sennit_swapstack(made, 0).from; /* as in its loop */
  const long red_zone = SENNIT_RECORD_SIZE - (long)sizeof(struct sennit_context_record);
  return top - (char*)made - red_zone;
}

int main(void) {
  static const struct {
    const char* name;
    sennit_entry entry;
  } sites[] = {{"nothing alive", nothing_alive}, {"1 value alive", one_alive}, {"4 values alive", four_alive},
               {"10 values alive", ten_alive},   {"in a callee", called},      {"5 calls deep", five_deep}};
  for (unsigned i = 0; i < sizeof sites / sizeof *sites; ++i)
    printf("%s\t%ld\n", sites[i].name, bytes_of(sites[i].entry));
  printf("the switch alone\t%zu\n", sizeof(struct sennit_context_record));
  return 0;
}
