// Nothing of a chain of local functions that ends in a switch saves a callee-saved register, and the function
// that is seen from outside saves them once. (One may still be used, and saved: rbp, which everyone keeps.)
// RUN: %sennit_clang -O2 -S %s -o - | FileCheck %s --check-prefix SAVED
// RUN: %sennit_clang -mllvm -sennit-no-callee-save -O2 -S %s -o - | FileCheck %s
// RUN: %sennit_clang -mllvm -sennit-no-callee-save -O2 -S %s -o /dev/null -Rpass=sennit 2>&1 | FileCheck %s --check-prefix REMARK
// REMARK: remark: saves no registers for its callers [-Rpass=sennit-no-callee-save]
// RUN: %sennit_clang --target=aarch64-linux-gnu -mllvm -sennit-no-callee-save -O2 -S %s -o - | FileCheck %s --check-prefix AARCH64
// RUN: %sennit_clang -mllvm -sennit-no-callee-save -O1 %s -o %t %library && %t
// RUN: %sennit_clang -mllvm -sennit-no-callee-save -O2 %s -o %t %library && %t
// RUN: %sennit_clang -mllvm -sennit-no-callee-save -O2 -fno-omit-frame-pointer %s -o %t %library && %t
// RUN: %sennit_clang -mllvm -sennit-no-callee-save -O3 -march=native %s -o %t %library && %t
// RUN: %sennit_clang -mllvm -sennit-no-callee-save -Os -fPIC %s -o %t %library && %t
// RUN: %sennit_clang -mllvm -sennit-no-callee-save -O0 %s -o %t %library && %t
// RUN: %sennit_clang -mllvm -sennit-no-callee-save -flto=thin -fuse-ld=lld -Wl,--load-pass-plugin=%plugin -O2 %s -o %t %library
// RUN: %t && llvm-objdump -d --disassemble-symbols=switches %t | FileCheck %s --check-prefix THIN
// THIN: <switches>:
// THIN-NOT: push{{.*}}r15
#include "Inputs/partner.h"

// SAVED-LABEL: round_trips:
// SAVED-LABEL: {{^}}switches:
// SAVED: pushq %r15
// SAVED: pushq %r12

// CHECK-LABEL: {{^}}round_trips:
// CHECK: pushq %rbp
// CHECK: pushq %r15
// CHECK: pushq %rbx
// CHECK: callq first
// CHECK-LABEL: {{^}}first:
// CHECK-NOT: {{(push|pop)q %r(bx|12|13|14|15)}}
// CHECK: callq second
// CHECK-LABEL: {{^}}second:
// CHECK-NOT: {{(push|pop)q %r(bx|12|13|14|15)}}
// CHECK-LABEL: {{^}}third:
// CHECK-NOT: {{(push|pop)q %r(bx|12|13|14|15)}}
// CHECK-LABEL: {{^}}fourth:
// CHECK-NOT: {{(push|pop)q %r(bx|12|13|14|15)}}
// CHECK-LABEL: {{^}}switches:
// CHECK-NOT: {{(push|pop)q}}
// CHECK: #APP
// CHECK: #NO_APP
// CHECK-NOT: {{(push|pop)q}}
// CHECK: retq

// AARCH64-LABEL: {{^}}round_trips:
// AARCH64: stp d15, d14
// AARCH64: stp x28, x27
// AARCH64-LABEL: {{^}}first:
// AARCH64-NOT: stp {{[dx]}}{{[12][0-8]}},
// AARCH64-LABEL: {{^}}switches:
// AARCH64-NOT: stp {{[dx]}}{{[12][0-8]}},
// AARCH64: //APP
NOINLINE static long switches(long value) {
  return ask(value);
}
NOINLINE static long fourth(long value) {
  return switches(value) + 1;
}
NOINLINE static long third(long value) {
  return fourth(value) + 1;
}
NOINLINE static long second(long value) {
  return third(value) + value;
}
NOINLINE static long first(long value) {
  return second(value) + 1;
}

long round_trips(long n);
NOINLINE long round_trips(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i)
    sum += first(i);
  return sum;
}

int main(void) {
  make_partner();
  return round_trips(1000) == 999 * 1000 + 3 * 1000 ? 0 : 1;
}
