// A check on AArch64: a register that is dead there, a byte of the thread, and a branch that is not taken.
// RUN: %sennit_clang %aarch64 -O2 -S %s -o - -mllvm -sennit-polls %verify | FileCheck %s --check-prefixes CHECK,LOCAL
// RUN: %sennit_clang %aarch64 -O2 -fPIC -S %s -o - -mllvm -sennit-polls %verify | FileCheck %s --check-prefixes CHECK,INITIAL
// RUN: %sennit_clang %aarch64 -O2 -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-tls=initial-exec | FileCheck %s --check-prefixes CHECK,INITIAL
// RUN: %sennit_clang %aarch64 -O2 -c %s -o %t.o -mllvm -sennit-polls
// RUN: llvm-readelf -s %t.o | FileCheck %s --check-prefix SYMBOL
// SYMBOL: TLS GLOBAL DEFAULT UND sennit_yield_requested
// SYMBOL-NOT: sennit_yield_requested
volatile int more, at;
extern __thread unsigned char sennit_yield_requested __attribute__((tls_model("initial-exec")));

// Who calls has the return address in its frame.
// CHECK-LABEL: caller:
// LOCAL: mrs [[R:x[0-9]+]], TPIDR_EL0
// LOCAL-NEXT: add [[R]], [[R]], :tprel_hi12:sennit_yield_requested
// LOCAL-NEXT: ldrb w[[N:[0-9]+]], {{\[}}[[R]], :tprel_lo12_nc:sennit_yield_requested]
// INITIAL: adrp [[R:x[0-9]+]], :gottprel:sennit_yield_requested
// INITIAL-NEXT: ldr [[R]], {{\[}}[[R]], :gottprel_lo12:sennit_yield_requested]
// INITIAL-NEXT: mrs [[T:x[0-9]+]], TPIDR_EL0
// INITIAL-NEXT: ldrb w[[N:[0-9]+]], {{\[}}[[T]], [[R]]]
// CHECK-NEXT: cbnz w[[N]], [[COLD:.LBB[0-9_]+]]
// CHECK-NEXT: [[ON:.LBB[0-9_]+]]:
// CHECK: bl other
// CHECK: ret
// CHECK: [[COLD]]:
// CHECK: NO_APP
// CHECK-NEXT: bl sennit_yield_none
// CHECK-NEXT: b [[ON]]
void other(void);
void caller(void) {
  while (more)
    other();
}

// A leaf has it in x30 alone, which the call of the stub writes.
// CHECK-LABEL: leaf:
// CHECK: cbnz w[[N:[0-9]+]], [[COLD:.LBB[0-9_]+]]
// CHECK: [[COLD]]:
// CHECK: mov [[KEPT:x[0-9]+]], x30
// CHECK-NEXT: .cfi_register w30, w[[N]]
// CHECK-NEXT: bl sennit_yield_{{.*}}[[KEPT]]{{$}}
// CHECK-NEXT: mov x30, [[KEPT]]
// CHECK-NEXT: .cfi_restore w30
// CHECK-NEXT: b .LBB
void leaf(void) {
  while (more)
    at = more;
}

// The program's own declaration keeps its model.
// CHECK-LABEL: own_declaration:
// CHECK: gottprel_lo12:sennit_yield_requested
// CHECK-NOT: tprel_hi12:sennit_yield_requested
// CHECK: .size own_declaration
unsigned char own_declaration(void) {
  return sennit_yield_requested;
}
