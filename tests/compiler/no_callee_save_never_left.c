// A function that switches, or calls who does, and is never left saves no registers, whoever may call it: so
// a suspended context is small. One that may return, does not switch, or has a base pointer saves them.
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-no-callee-save -mllvm -verify-machineinstrs | FileCheck %s
// RUN: %sennit_clang -O2 -S %s -o - | FileCheck %s --check-prefix STOCK
// RUN: %sennit_clang -O2 -DRUN %s %library -o %t.stock && %t.stock > %t.want
// RUN: %sennit_clang -O2 -DRUN %s %library -o %t -mllvm -sennit-no-callee-save && %t > %t.out && cmp %t.want %t.out
// RUN: %sennit_clang -O0 -DRUN %s %library -o %t -mllvm -sennit-no-callee-save && %t > %t.out && cmp %t.want %t.out
// RUN: %sennit_clang -O2 -fno-omit-frame-pointer -DRUN %s %library -o %t -mllvm -sennit-no-callee-save && %t > %t.out && cmp %t.want %t.out
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#include "sennit/detail/arch/context.h"

volatile long in, out;
sennit_context other;

#define ENTRY(name)                                                                                 \
  void name(sennit_context from, uintptr_t v0, uintptr_t v1, uintptr_t v2, uintptr_t v3);           \
  __attribute__((nothrow)) void name(sennit_context from, uintptr_t v0, uintptr_t v1, uintptr_t v2, \
                                     uintptr_t v3)

// CHECK-LABEL: counts:
// CHECK-NOT: pushq %r1
// CHECK: sennit: a switch
// STOCK-LABEL: counts:
// STOCK-COUNT-4: pushq %r1
ENTRY(counts) {
  (void)v1, (void)v2, (void)v3;
  for (long count = (long)v0;; count += in) {
    const sennit_transfer got = sennit_swapstack(from, (uintptr_t)count);
    from = got.from;
  }
}

__attribute__((noinline)) static long ask(long value) {
  const sennit_transfer got = sennit_swapstack(other, (uintptr_t)value);
  other = got.from;
  return (long)got.value;
}

// CHECK-LABEL: calls:
// CHECK-NOT: pushq %r1
// CHECK: callq ask
// STOCK-LABEL: calls:
// STOCK: pushq %r1
ENTRY(calls) {
  (void)v1, (void)v2, (void)v3;
  other = from;
  long a = in, b = in + 1, c = in + 2;
  for (long value = (long)v0;;) {
    value = ask(value + a * b + c);
    a ^= value, b += a, c -= b;
  }
}

// CHECK-LABEL: returns:
// CHECK-COUNT-4: pushq %r1
long returns(long value);
long returns(long value) {
  return ask(value) + (long)sennit_swapstack(other, 1).value;
}

// CHECK-LABEL: does_not_switch:
// CHECK: pushq
// CHECK: callq abort
void does_not_switch(void);
__attribute__((nothrow)) void does_not_switch(void) {
  for (;;) {
    const long a = in, b = in;
    if (a == 7)
      abort();
    __asm__ volatile("" ::: "rbx", "r12", "r13");
    out = a + b;
  }
}

// CHECK-LABEL: base_pointer:
// CHECK: pushq %r1
ENTRY(base_pointer) {
  (void)v1, (void)v2, (void)v3;
  for (;;) {
    alignas(64) char memory[v0 + 1];
    __asm__ volatile("" ::"r"(memory) : "memory");
    from = sennit_swapstack(from, (uintptr_t)memory % 64).from;
  }
}

#ifdef RUN
static void talk_to(sennit_entry entry) {
  alignas(64) static char stack[16384];
  sennit_context made = sennit_newstack(stack + sizeof stack, entry);
  long a = in + 1, b = in + 2, c = in + 3, d = in + 4, e = in + 5, f = in + 6;
  for (long i = 0; i < 1000; ++i) {
    in = i;
    const sennit_transfer got = sennit_swapstack(made, (uintptr_t)(i * 3));
    made = got.from;
    a += (long)got.value, b ^= a, c += b, d ^= c, e += d, f ^= e;
  }
  printf("%ld %ld %ld %ld %ld %ld\n", a, b, c, d, e, f);
}

int main(void) {
  talk_to(counts);
  talk_to(calls);
  talk_to(base_pointer);
}
#endif
