// To compare with: checks before optimization, in each loop and each function that calls. What is live is
// spilled around the call, and what has one is not vectorized.
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls-ir=check | FileCheck %s --check-prefixes BOTH,CHECK
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls-ir=call | FileCheck %s --check-prefixes BOTH,CALL
// RUN: %stock_clang -O2 -S %s -o - | FileCheck %s --check-prefix STOCK
void other(void);

// BOTH-LABEL: add:
// CHECK: cmpb $0, %fs:
// CHECK: callq sennit_forced_yield@PLT
// CALL: callq sennit_poll@PLT
// BOTH-NOT: paddd
// BOTH-LABEL: calls:
// STOCK-LABEL: add:
// STOCK: paddd
// STOCK-NOT: sennit
int add(const int* numbers) {
  int sum = 0;
  for (int i = 0; i < 1024; ++i)
    sum += numbers[i];
  return sum;
}

// CHECK: cmpb $0, %fs:
// CALL: callq sennit_poll@PLT
// BOTH: callq other@PLT
void calls(void) {
  other();
  other();
}

// BOTH-LABEL: leaf:
// CHECK-NOT: cmpb
// CALL-NOT: sennit_poll
// BOTH: retq
int leaf(int a) {
  return a * a;
}
