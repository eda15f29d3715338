// Vectors are saved as wide as they are live, masks where they are, and the x87 state as a whole.
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls | FileCheck %s --check-prefixes CHECK,SSE
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls -mavx2 | FileCheck %s --check-prefixes CHECK,AVX
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls -mavx512f -mavx512bw -mavx512vl -mprefer-vector-width=512 | FileCheck %s --check-prefixes CHECK,WIDE
typedef float wide __attribute__((vector_size(64)));
volatile int more;

// CHECK-LABEL: scalar:
// SSE: movups %xmm0, (%rsp)
// SSE: callq sennit_yield_rdi_xmm0{{$}}
// AVX: vmovups %xmm0, (%rsp)
// AVX-NEXT: vzeroupper
// AVX-NEXT: callq sennit_forced_yield@PLT
// AVX: vmovups (%rsp), %xmm0
// AVX: callq sennit_yield_avx_rdi_xmm0{{$}}
double scalar(volatile double* p) {
  double sum = 0;
  do
    sum += *p;
  while (more);
  return sum;
}

// CHECK-LABEL: vector:
// SSE: callq sennit_yield_{{.*}}xmm0_xmm1_xmm2_xmm3{{$}}
// AVX: vmovups %ymm
// AVX: callq sennit_yield_{{.*}}ymm{{[0-9]+}}_ymm{{[0-9]+}}{{$}}
// WIDE: vmovups %zmm
// WIDE: callq sennit_yield_{{.*}}zmm{{[0-9]+}}{{$}}
void vector(volatile wide* p) {
  wide sum = {0};
  do
    sum += *p;
  while (more);
  *p = sum;
}

// CHECK-LABEL: extended:
// CHECK: fnsave (%rsp)
// CHECK: frstor (%rsp)
// CHECK: callq sennit_yield_rdi_x87{{$}}
long double extended(volatile double* p) {
  long double sum = 0;
  do
    sum += *p;
  while (more);
  return sum;
}

// WIDE-LABEL: mask:
// WIDE: kmovq %k1,
// WIDE: callq sennit_yield_{{.*}}kq1{{$}}
#if defined(__AVX512BW__)
#include <immintrin.h>
void mask(volatile int* p) {
  __mmask64 m;
  __asm__ volatile("kxnorq %%k1, %%k1, %%k1" : "=Yk"(m));
  register __mmask64 kept __asm__("k1") = m;
  do
    __asm__ volatile("" : "+Yk"(kept));
  while (*p);
  __asm__ volatile("" : : "Yk"(kept));
}
#endif
