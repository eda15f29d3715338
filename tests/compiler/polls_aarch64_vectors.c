// No stub saves SVE's registers: a check stands where none is live, or it is told that there is no place.
// RUN: %sennit_clang %aarch64 -march=armv8.2-a+sve -O2 -S %s -o - -mllvm -sennit-polls %verify | FileCheck %s
// RUN: not %sennit_clang %aarch64 -march=armv8.2-a+sve -O2 -S %s -o /dev/null -mllvm -sennit-polls -DNONE -gline-tables-only 2>&1 | FileCheck %s --check-prefix NONE
#include <arm_sve.h>
volatile int more;

// CHECK-LABEL: between:
// CHECK: sennit_yield_requested
// CHECK: cbnz w{{[0-9]+}}, [[COLD:.LBB[0-9_]+]]
// CHECK: [[COLD]]:
// CHECK: bl sennit_yield_x0_{{[x0-9_]+$}}
void between(float* p) {
  do {
    const svbool_t all = svwhilelt_b32(0, more);
    svst1(all, p, svadd_x(all, svld1(all, p), 1.0f));
  } while (more);
}

#if defined(NONE)
// NONE: polls_aarch64_vectors.c:[[#@LINE+5]]:{{.*}}: warning: throughout: a loop has no place for a check: in all of it something is live that no stub saves
// NONE: error: throughout: a cycle has no check (block %bb.
// NONE-NOT: bug report
svfloat32_t throughout(svfloat32_t sum) {
  do
    sum = svadd_x(svptrue_b32(), sum, 1.0f);
  while (more);
  return sum;
}
#endif
