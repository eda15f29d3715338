// The call of a stub does not write into a red zone, and what it does to the stack pointer is described.
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls | FileCheck %s
volatile int more;
void other(void);

// CHECK-LABEL: leaf:
// CHECK: {{addq \$-128|leaq -128\(%rsp\)}}, %rsp
// CHECK-NEXT: .cfi_adjust_cfa_offset 128
// CHECK-NEXT: callq sennit_yield_
// CHECK-NEXT: {{addq \$128|leaq 128\(%rsp\)}}, %rsp
// CHECK-NEXT: .cfi_adjust_cfa_offset -128
int leaf(int n) {
  volatile int local[4] = {n};
  while (more)
    local[1] += local[0];
  return local[1];
}

// CHECK-LABEL: caller:
// CHECK-NOT: 128
// CHECK: callq sennit_yield_none{{$}}
// CHECK-NOT: 128
void caller(void) {
  while (more)
    other();
}
