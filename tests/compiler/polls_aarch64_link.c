// A function that saves the link register computes with it, too, where it may be live as a half only.
// RUN: %sennit_clang %aarch64 -O2 -S %s -o - -mllvm -sennit-polls %verify | FileCheck %s
volatile int more;

// CHECK-LABEL: half:
// CHECK: cbnz w{{[0-9]+}}, [[COLD:.LBB[0-9_]+]]
// CHECK: [[COLD]]:
// CHECK: mov [[KEPT:x[0-9]+]], x30
// CHECK-NEXT: bl sennit_yield_{{.*}}[[KEPT]]
// CHECK-NEXT: mov x30, [[KEPT]]
// CHECK-NEXT: b .LBB
int half(int n) {
  register int kept __asm__("w30") = n;
  __asm__ volatile("" : "+r"(kept));
  do
    __asm__ volatile("" : "+r"(kept));
  while (more);
  return kept;
}
