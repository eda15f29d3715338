// A check by a page is one load into a dead register, which no branch follows; a table says where it goes on
// when that faults.
// RUN: %sennit_clang -O2 -S %s -o - %verify -mllvm -sennit-polls -mllvm -sennit-polls-check=page | FileCheck %s
// RUN: %sennit_clang -O2 -fPIC -S %s -o - %verify -mllvm -sennit-polls -mllvm -sennit-polls-check=page | FileCheck %s --check-prefix=PIC
// Each function's entries go with it, and the page is one for all units.
// RUN: %sennit_clang -O2 -ffunction-sections -c %s -o %t.o -mllvm -sennit-polls -mllvm -sennit-polls-check=page
// RUN: llvm-readelf-19 -SW %t.o | FileCheck %s --check-prefix=SECTIONS
// RUN: not %sennit_clang %aarch64 -O2 -c %s -o %t.o -mllvm -sennit-polls -mllvm -sennit-polls-check=page 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: error: -sennit-polls-check=page is for x86-64 on Linux only, without -mcmodel=large

// CHECK-LABEL: counts:
// CHECK: .Lsennit_check[[N:[0-9]+]]:
// CHECK-NEXT: movl %fs:sennit_poll_page@TPOFF, %[[DEAD:e.x]]
// CHECK-NEXT: .section sennit_polls,"ao",@progbits,.Lsennit_check[[N]]
// CHECK: .long .Lsennit_check[[N]]-
// CHECK: .long [[COLD:.LBB[0-9_]+]]-
// CHECK-NOT: j{{[a-z]+}} [[COLD]]
// CHECK: retq
// CHECK: [[COLD]]:
// CHECK: callq sennit_yield_

// PIC-LABEL: counts:
// PIC: movq sennit_poll_page@GOTTPOFF(%rip), %[[DEAD:r..?]]
// PIC: .Lsennit_check[[N:[0-9]+]]:
// PIC-NEXT: movl %fs:(%[[DEAD]]), %{{e|r}}
int counts(volatile int* p, int n) {
  int found = 0;
  for (int i = 0; i != n; ++i)
    found += *p;
  return found;
}

// A check writes no flags, but keeps a compare and its branch from being one operation: it is not between
// them, though nothing is to be saved there.
// CHECK-LABEL: looks:
// CHECK: .Lsennit_check
// CHECK: cmpl %esi, (%rdi)
// CHECK-NEXT: jne
// CHECK: callq sennit_yield_rsi_rdi
int unknown(int* p);
int looks(int* p, int n) {
  if (*p == n)
    unknown(p);
  return unknown(p) + *p;
}

// SECTIONS: .text.counts
// SECTIONS: sennit_polls PROGBITS {{.*}} AL
// SECTIONS: .tbss.sennit_poll_page NOBITS {{.*}} WAGT
// SECTIONS: .init_array.100
