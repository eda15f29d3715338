// From inside of a stub on AArch64, backtraces name who was stopped, and his callers: leaves that have the
// return address in a register alone, others, and checks that save registers on the stack.
// RUN: %sennit_clang %aarch64 -O2 -S %s -o - -mllvm -sennit-polls %verify | FileCheck %s
// RUN: %stock_clang %aarch64 -O1 -fPIC -c %s -o %t.runtime.o -DRUNTIME
// RUN: %sennit_clang %aarch64 -static -O2 %s %t.runtime.o -o %t -mllvm -sennit-polls %verify && timeout 60 qemu-aarch64 %t
// RUN: %sennit_clang %aarch64 -static -O2 -fPIC -fomit-frame-pointer %s %t.runtime.o -o %t -mllvm -sennit-polls && timeout 60 qemu-aarch64 %t
// RUN: %sennit_clang %aarch64 -static -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer %s %t.runtime.o -o %t -mllvm -sennit-polls && timeout 60 qemu-aarch64 %t
// RUN: %sennit_clang %aarch64 -static -O2 -mbranch-protection=pac-ret+leaf %s %t.runtime.o -o %t -mllvm -sennit-polls && timeout 60 qemu-aarch64 %t
// RUN: %sennit_clang %aarch64 -static -O0 %s %t.runtime.o -o %t -mllvm -sennit-polls && timeout 60 qemu-aarch64 %t
#include "Inputs/backtrace.h"

#if !defined(RUNTIME)

__attribute__((noinline)) static long leaf(volatile int* end) {
  sennit_yield_requested = 1;
  while (!*end) {
  }
  return 1;
}

__attribute__((noinline)) static long leaf_with_frame(volatile int* end) {
  sennit_yield_requested = 1;
  volatile int local[800] = {0};
  while (!*end)
    ++local[3];
  return local[3];
}

__attribute__((noinline)) static void other(void) {
  __asm__ volatile("");
}

__attribute__((noinline)) static long not_leaf(volatile int* end) {
  sennit_yield_requested = 1;
  while (!*end)
    other();
  return 1;
}

// Saves its callers' registers on one way only.
__attribute__((noinline)) static long with_a_late_frame(volatile int* end) {
  sennit_yield_requested = 1;
  while (!*end) {
  }
  if (*end == 1)
    return 1;
  other();
  return *end;
}

__attribute__((noinline)) static long of_any_size(volatile int* end) {
  sennit_yield_requested = 1;
  volatile char room[stop + 8];
  while (!*end)
    room[2] = 1;
  return room[2];
}

// No register is left for a check, which saves two on the stack.
// CHECK-LABEL: all_registers:
// CHECK: stp x0, x1, [sp, #-16]!
// CHECK-NEXT: .cfi_def_cfa_offset [[MORE:[0-9]+]]
// CHECK-NEXT: mrs x0, TPIDR_EL0
// CHECK: cbnz w0, [[COLD:.LBB[0-9_]+]]
// CHECK-NEXT: [[ON:.LBB[0-9_]+]]:
// CHECK: ldp x0, x1, [sp], #16
// CHECK-NEXT: .cfi_def_cfa_offset [[LESS:[0-9]+]]
// CHECK: [[COLD]]:
// CHECK: .cfi_def_cfa_offset [[MORE]]
// CHECK: bl sennit_yield_x0_x1_x2_
// CHECK: .cfi_def_cfa_offset [[LESS]]
// CHECK-NEXT: b [[ON]]
__attribute__((noinline)) static long all_registers(volatile int* end) {
  sennit_yield_requested = 1;
#define IN(i) register long x##i __asm__("x" #i) = i
#define EIGHT(a, b, c, d, e, f, g, h)                                                                    \
  __asm__ volatile(""                                                                                    \
                   : "+r"(x##a), "+r"(x##b), "+r"(x##c), "+r"(x##d), "+r"(x##e), "+r"(x##f), "+r"(x##g), \
                     "+r"(x##h))
  IN(0);
  IN(1);
  IN(2);
  IN(3);
  IN(4);
  IN(5);
  IN(6);
  IN(7);
  IN(8);
  IN(9);
  IN(10);
  IN(11);
  IN(12);
  IN(13);
  IN(14);
  IN(15);
  do {
    EIGHT(0, 1, 2, 3, 4, 5, 6, 7);
    EIGHT(8, 9, 10, 11, 12, 13, 14, 15);
  } while (!*end);
  return x0 + x8;
}

__attribute__((noinline)) long caller(function* called) {
  const long result = called(&stop);
  __asm__ volatile("" : : : "memory");
  return result;
}

int main(void) {
  function* const all[] = {leaf, leaf_with_frame, not_leaf, with_a_late_frame, of_any_size, all_registers};
  for (int i = 0; i < (int)(sizeof all / sizeof *all); ++i) {
    wanted = all[i];
    stop = right = 0;
    caller(all[i]);
    if (!right) {
      printf("the backtrace of function %d\n", i);
      return 1;
    }
  }
  return 0;
}
#endif
