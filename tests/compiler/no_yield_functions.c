// A function that is marked has no checks, nor has what is inlined into it.
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls | FileCheck %s
// RUN: %sennit_clang -O0 -S %s -o - -mllvm -sennit-polls | FileCheck %s
// RUN: %sennit_clang -x c++ -std=c++20 -O2 -S %s -o - -mllvm -sennit-polls | FileCheck %s
#include "sennit/no_yield.h"

#ifdef __cplusplus
extern "C" {
#endif
volatile int count;

static inline __attribute__((always_inline)) void wait_for(int what) {
  while (count != what) {
  }
}

// CHECK-LABEL: checked:
// CHECK: sennit_yield_requested
void checked(void) {
  wait_for(1);
}

// CHECK-LABEL: marked:
// CHECK-NOT: sennit_yield
// CHECK: retq
SENNIT_NO_YIELD void marked(void) {
  wait_for(2);
  while (count != 3) {
  }
}

// Around it there are some again.
SENNIT_NO_YIELD static inline __attribute__((always_inline)) void inner(void) {
  while (count != 4) {
  }
}

// CHECK-LABEL: around:
// CHECK: no yield until here
// CHECK: sennit_yield_requested
void around(void) {
  inner();
  wait_for(5);
}
#ifdef __cplusplus
}
#endif
