/* Contexts that suspend themselves at different sites: how much of their stacks is kept while they are
 * suspended. Prints "site<tab>bytes" for each: from the top of the stack down to the handle. It does not
 * count the red zone, which the switch leaves as it is and which is unused there, nor the part of the record
 * that the primitive leaves unwritten. */
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>

#include "sennit/swapstack.h"

#define NOINLINE __attribute__((noinline))
#define ENTRY(name) SENNIT_SWAPSTACK_ENTRY(name, sennit_nothing)

SENNIT_SWAPSTACK(next, sennit_nothing, sennit_nothing)

/* What a switch writes. The primitive saves a frame pointer and a base pointer besides where a function has
 * them; none does here. */
#if defined(SENNIT_COMPILER_SWAPSTACK)
enum { record = sizeof(void*) };
#else
enum { record = sizeof(struct sennit_context_record) };
#endif

static volatile long in, out;
static sennit_context other; /* our resumer */

/* ---- In the function that the context entered. */

ENTRY(nothing_alive) {
  (void)value;
  for (;;)
    from = next(from, SENNIT_NOTHING).from;
}

ENTRY(one_alive) {
  (void)value;
  for (long count = in;; ++count) {
    from = next(from, SENNIT_NOTHING).from;
    out = count;
  }
}

ENTRY(four_alive) {
  (void)value;
  for (;;) {
    const long a = in, b = in, c = in, d = in;
    from = next(from, SENNIT_NOTHING).from;
    out = a, out = b, out = c, out = d;
  }
}

ENTRY(ten_alive) {
  (void)value;
  for (;;) {
    const long a = in, b = in, c = in, d = in, e = in, f = in, g = in, h = in, i = in, j = in;
    from = next(from, SENNIT_NOTHING).from;
    out = a, out = b, out = c, out = d, out = e, out = f, out = g, out = h, out = i, out = j;
  }
}

/* ---- In one that it has called: nothing is alive there. */

NOINLINE static void ask(void) {
  other = next(other, SENNIT_NOTHING).from;
}

ENTRY(called) {
  (void)value;
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
  (void)value;
  other = from;
  for (;;)
    out = first(in);
}

/* ---- */

static long bytes_of(sennit_entry entry) {
  alignas(64) static char stack[16384];
  char* const top = stack + sizeof stack;
  sennit_context made = sennit_newstack(top, entry);
  made = next(made, SENNIT_NOTHING).from;
  made = next(made, SENNIT_NOTHING).from; /* as in its loop */
  return top - (char*)made - (SENNIT_RECORD_SIZE - (long)record);
}

int main(void) {
  static const struct {
    const char* name;
    sennit_entry entry;
  } sites[] = {{"nothing alive", nothing_alive}, {"1 value alive", one_alive}, {"4 values alive", four_alive},
               {"10 values alive", ten_alive},   {"in a callee", called},      {"5 calls deep", five_deep}};
  for (unsigned i = 0; i < sizeof sites / sizeof *sites; ++i)
    printf("%s\t%ld\n", sites[i].name, bytes_of(sites[i].entry));
  printf("the switch alone\t%d\n", (int)record);
  return 0;
}
