// A check is where the fewest registers are live in its loop, and its stub saves those alone: by analogy with
// the three blocks of Jaaskelainen 2008, Figure 2, one register and then none, and none.
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls -mllvm -verify-machineinstrs | FileCheck %s
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-placement=max | FileCheck %s --check-prefix MAX
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-placement=begin | FileCheck %s --check-prefix BEGIN
volatile int in, more;
volatile long out;

// CHECK-LABEL: thread:
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: callq sennit_yield_rax{{$}}
// CHECK: callq sennit_yield_none{{$}}
// CHECK: callq sennit_yield_none{{$}}
int thread(void) {
  int r1 = 0;
  do {
    const int r2 = in, r3 = in;
    r1 = r1 * r2 + r3;
  } while (more);
  out = r1;
  do
    out = in;
  while (more);
  do
    out = in;
  while (more);
  return 0;
}

// The longest-lived value is in a register all the time, the others in the middle only.
// CHECK-LABEL: middle:
// CHECK: callq sennit_yield_rdi{{$}}
// MAX-LABEL: middle:
// MAX-NOT: callq sennit_yield_rdi{{$}}
// MAX: callq sennit_yield_{{r[a-z0-9]+_r[a-z0-9]+}}
// BEGIN-LABEL: middle:
// BEGIN: # =>This Inner Loop Header
// BEGIN-NEXT: cmpb $0, %fs:sennit_yield_requested@TPOFF
void middle(volatile long* p) {
  do {
    const long a = p[0], b = p[1], c = p[2];
    p[3] = a * b + b * c + c * a;
  } while (p[4]);
}
