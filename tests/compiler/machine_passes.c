// The code generator runs the machine passes as its own: they have names, and request analyses.
// RUN: %sennit_clang -mllvm -sennit-polls -O2 -S %s -o /dev/null -mllvm -debug-pass=Structure 2>&1 | FileCheck %s
// CHECK: Branch Probability Basic Block Placement
// CHECK: MachineDominator Tree Construction
// CHECK: Sennit: the code of switches
// CHECK: Machine Natural Loop Construction
// CHECK: Sennit: checks
// CHECK-NEXT: Implement the 'patchable-function' attribute
// RUN: %sennit_clang -mllvm -sennit-polls -O2 -S %s -o /dev/null -mllvm -print-after=sennit-place-polls 2>&1 | FileCheck %s --check-prefix AFTER
// AFTER: IR Dump After Sennit: checks (sennit-place-polls)
// AFTER: CMP8mi {{.*}}&sennit_yield_requested
void other(void);
void calls(void) {
  other();
}
