/* The switch in loops: round trips with values handed over and values kept alive, new contexts that are
 * entered once, and branches that end in a switch. Built with the library's inline switch and with the
 * plugin's primitive. */
#include <stdalign.h>

#include "measure.h"
#include "sennit/swapstack.h"

struct four {
  long words[4];
};

SENNIT_SWAPSTACK(ask, long, long)
SENNIT_SWAPSTACK(ask_four, struct four, struct four)
SENNIT_SWAPSTACK(answer, sennit_nothing, long)

static alignas(64) char stacks[2][65536];
static volatile long sink;

static void* top(int i) {
  return stacks[i] + sizeof stacks[i];
}

SENNIT_SWAPSTACK_ENTRY(echo, long) {
  for (;;) {
    const ask_transfer got = ask(from, value);
    from = got.from;
    value = got.value;
  }
}

SENNIT_SWAPSTACK_ENTRY(echo_four, struct four) {
  for (;;) {
    const ask_four_transfer got = ask_four(from, value);
    from = got.from;
    value = got.value;
  }
}

NOINLINE static long one_value(long n) {
  sennit_context context = sennit_newstack(top(0), echo);
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    const ask_transfer got = ask(context, i);
    context = got.from;
    sum += got.value;
  }
  return sum;
}

NOINLINE static long four_values(long n) {
  sennit_context context = sennit_newstack(top(0), echo_four);
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    const ask_four_transfer got = ask_four(context, (struct four){{i, i, i, i}});
    context = got.from;
    sum += got.value.words[0] + got.value.words[3];
  }
  return sum;
}

/* Ten values alive that the loop changes: all go through the frame, or through what a switch keeps. */
NOINLINE static long ten_alive(long n) {
  sennit_context context = sennit_newstack(top(0), echo);
  long a = n, b = n + 1, c = n + 2, d = n + 3, e = n + 4, f = n + 5, g = n + 6, h = n + 7;
  for (long i = 0; i < n; ++i) {
    const ask_transfer got = ask(context, i);
    context = got.from;
    a += got.value, b ^= a, c += b, d ^= c, e += d, f ^= e, g += f, h ^= g;
  }
  return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

/* Dolan 2013, section 3.4: the constant is loaded anew, and x is out of the way. */
NOINLINE static long paper(long n, long x) {
  sennit_context context = sennit_newstack(top(0), echo);
  for (long i = 0; i < n; ++i) {
    const long local = 0x0123456789abcdefL;
    sink = local;
    context = ask(context, i).from;
    sink = local;
  }
  return x;
}

static long foo(long n) {
  return paper(n, n);
}

SENNIT_SWAPSTACK_ENTRY(once, long) {
  answer(from, value);
}

/* What returns to its caller sees what the return predictor makes of the first entry. */
NOINLINE static long make_and_enter(long value) {
  return ask(sennit_newstack(top(1), once), value).value;
}

NOINLINE static long first_entry(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i)
    sum += make_and_enter(i);
  return sum;
}

/* The pointer is a parameter: known only where this is inlined (section 3.3). */
SENNIT_ALWAYS_INLINE long run(sennit_entry entry, long value) {
  return ask(sennit_newstack(top(1), entry), value).value;
}

NOINLINE static long first_entry_in_loop(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i)
    sum += run(once, i);
  return sum;
}

static volatile long condition = 0x5555;

/* Section 3.2: both branches end in a switch. */
NOINLINE static long branches(long n) {
  const long bits = condition;
  sennit_context one = sennit_newstack(top(0), echo), another = sennit_newstack(top(1), echo);
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    ask_transfer got;
    if ((bits >> (i & 15)) & 1) {
      sum ^= i;
      got = ask(one, i);
    } else {
      sum += 3;
      got = ask(one, sum);
    }
    one = another;
    another = got.from;
    sum += got.value;
  }
  return sum;
}

int main(void) {
  measure("round trip, a value", one_value);
  measure("round trip, four values", four_values);
  measure("round trip, ten values alive", ten_alive);
  measure("round trip, the paper's foo", foo);
  measure("new context, entered once, in a function", first_entry);
  measure("new context, entered once, in the loop", first_entry_in_loop);
  measure("round trip from either of two branches", branches);
}
