// A loop of more than a MiB, which a compare and branch does not reach over.
// RUN: %sennit_clang %aarch64 -O2 -S %s -o - -mllvm -sennit-polls %verify | FileCheck %s
// RUN: %sennit_clang %aarch64 -O2 -c %s -o %t.o -mllvm -sennit-polls
volatile int more;

// CHECK-LABEL: loop:
// CHECK: ldrb w[[N:[0-9]+]], {{.*}}sennit_yield_requested
// CHECK-NEXT: cbz w[[N]], [[ON:.LBB[0-9_]+]]
// CHECK: b [[COLD:.LBB[0-9_]+]]
// CHECK: [[ON]]:
// CHECK: .zero 1100000
// CHECK: [[COLD]]:
// CHECK: bl sennit_yield_
void loop(void) {
  while (more)
    __asm__ volatile(".space 1100000");
}
