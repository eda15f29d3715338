// The second seed's Figure 2: with a check in each block, at its place with the fewest live registers, the
// first of three blocks saves one register, and the others none. (By default none of them has a check: they
// are in no cycle.)
// RUN: %sennit_clang -O2 -S %s -o - %verify -mllvm -sennit-polls -mllvm -sennit-polls-in=blocks | FileCheck %s
// RUN: %sennit_clang %aarch64 -O2 -S %s -o - %verify -mllvm -sennit-polls -mllvm -sennit-polls-in=blocks | FileCheck %s --check-prefix=AARCH64
// RUN: %sennit_clang -O2 -S %s -o - %verify -mllvm -sennit-polls | FileCheck %s --check-prefix=DEFAULT
// DEFAULT-NOT: sennit_yield
// RUN: %sennit_clang -O2 -c %s -o %t.o -mllvm -sennit-polls -mllvm -sennit-polls-in=blocks -mllvm -sennit-polls-report=- | FileCheck %s --check-prefix=REPORT
// REPORT: thread: 3 checks
static volatile int memory[8];

// CHECK-LABEL: thread:
// CHECK: jne [[FIRST:.LBB[0-9_]+]]
// CHECK: jne [[SECOND:.LBB[0-9_]+]]
// CHECK: jne [[THIRD:.LBB[0-9_]+]]
// CHECK: retq
// CHECK: [[FIRST]]:
// CHECK: callq sennit_yield_r{{[a-z]+}}{{$}}
// CHECK: [[SECOND]]:
// CHECK: callq sennit_yield_none{{$}}
// CHECK: [[THIRD]]:
// CHECK: callq sennit_yield_none{{$}}
// In x15 is the leaf's return address, which a call writes there.
// AARCH64-LABEL: thread:
// AARCH64: bl sennit_yield_x8_x15{{$}}
// AARCH64: bl sennit_yield_x15{{$}}
// AARCH64: bl sennit_yield_x15{{$}}
void thread(int r2, int r3) {
  const int r1 = r2 + r3;
  if (r1 != 7)
    memory[1] = r1;
  const int loaded = memory[2];
  memory[4] = loaded + memory[3];
}
