// One check serves a loop and the recursion in it, an inner loop and the one around it; none is where nothing
// is called that might come back.
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls -mllvm -verify-machineinstrs | FileCheck %s
extern volatile int in, out;

// CHECK-LABEL: fibonacci:
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK-NOT: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: callq fibonacci
// CHECK-NOT: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: retq
unsigned fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// The way that calls nobody has none.
// CHECK-LABEL: mostly_not:
// CHECK-NOT: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: j{{n?}}e
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: callq unknown
void unknown(void);
int mostly_not(int n) {
  if (__builtin_expect(n == 0, 0)) {
    unknown();
    return 0;
  }
  out = n;
  return in;
}

// Nor does the usual way that passes by two rare ones.
// CHECK-LABEL: two_rare_ways:
// CHECK-NOT: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: retq
// CHECK-COUNT-2: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: .size two_rare_ways
int two_rare_ways(int n) {
  if (__builtin_expect(n == 0, 0))
    unknown();
  out = n;
  if (__builtin_expect(in == 7, 0))
    unknown();
  out = 3;
  return in;
}

// Each round of the outer loop goes through the inner one.
// CHECK-LABEL: nested:
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK-NOT: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: retq
void nested(void) {
  do {
    do
      out = in;
    while (in);
    out = 1;
  } while (in);
}
