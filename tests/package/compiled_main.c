/* A program outside of the tree, which the plugin compiles: built by ./check against an installed Sennit. */
#include <stdalign.h>
#include <stdio.h>

#include "sennit/detail/arch/context.h"

int keeps_values(int (*call)(int), int n);

static sennit_context other;

static void doubles(sennit_context from, uintptr_t value, uintptr_t v1, uintptr_t v2, uintptr_t v3) {
  (void)v1, (void)v2, (void)v3;
  for (;;) {
    sennit_transfer got = sennit_swapstack(from, 2 * value);
    from = got.from;
    value = got.value;
  }
}

__attribute__((noinline)) static int ask(int n) {
  sennit_transfer got = sennit_swapstack(other, (uintptr_t)n);
  other = got.from;
  return (int)got.value;
}

static int ask_for(int n) {
  return ask(n);
}

int main(void) {
  static alignas(64) char stack[65536];
  other = sennit_newstack(stack + sizeof stack, doubles);
  printf("%d\n", keeps_values(ask_for, 3));
}
