// Loops of few rounds, as the optimizer proves them, have no check; where it proves nothing, or too much, or
// something is called, they have one.
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls -mllvm -verify-machineinstrs | FileCheck %s
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-limit=0 | FileCheck %s --check-prefix EACH
// RUN: %sennit_clang -O0 -S %s -o - -mllvm -sennit-polls | FileCheck %s --check-prefix EACH
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-limit=100 | FileCheck %s --check-prefix EACH
extern volatile int in, out;
void unknown(void) __attribute__((leaf));

// CHECK-NOT: # sennit
// CHECK-LABEL: constant:
// CHECK-NOT: sennit_yield
// EACH-LABEL: constant:
// EACH: cmpb $0, %fs:sennit_yield_requested@TPOFF
void constant(void) {
  for (int i = 0; i < 1000; ++i)
    out = in;
}

// CHECK-LABEL: at_most:
// CHECK-NOT: sennit_yield
// EACH-LABEL: at_most:
// EACH: cmpb $0, %fs:sennit_yield_requested@TPOFF
void at_most(unsigned n) {
#pragma clang loop unroll(disable)
  for (unsigned i = 0; i < n % 512; ++i)
    out = in;
}

// CHECK-LABEL: left_early:
// CHECK-NOT: sennit_yield
// EACH-LABEL: left_early:
// EACH: cmpb $0, %fs:sennit_yield_requested@TPOFF
void left_early(void) {
  for (int i = 0; i < 300 && in != 7; ++i)
    if (in == i)
      out = i;
}

// CHECK-LABEL: nested:
// CHECK-NOT: sennit_yield
// EACH-LABEL: nested:
// EACH: cmpb $0, %fs:sennit_yield_requested@TPOFF
void nested(void) {
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < 30; ++j)
      out = in;
}

// The inner loop alone is short enough.
// CHECK-LABEL: nested_long:
// CHECK: Depth=1
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: Inner Loop Header: Depth=2
// CHECK-NOT: cmpb $0, %fs
// CHECK: retq
// EACH-LABEL: nested_long:
void nested_long(void) {
  for (int i = 0; i < 900; ++i) {
    out = 0;
    for (int j = 0; j < 900; ++j)
      out = in;
  }
}

// CHECK-LABEL: calls:
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// EACH-LABEL: calls:
void calls(void) {
  for (int i = 0; i < 1000; ++i)
    unknown();
}

// CHECK-LABEL: not_known:
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// EACH-LABEL: not_known:
void not_known(void) {
  while (in)
    out = in;
}
