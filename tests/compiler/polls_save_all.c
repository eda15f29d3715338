// To compare with: a stub that saves all that the target has and a call does not keep, live or not.
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-save=all -mllvm -verify-machineinstrs | FileCheck %s
// RUN: %sennit_clang -O2 -mavx -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-save=all | FileCheck %s --check-prefix AVX
// RUN: %sennit_clang -O2 -mavx512f -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-save=all | FileCheck %s --check-prefix AVX512
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-save=live | FileCheck %s --check-prefix LIVE
// And what is saved is loaded again: nothing is lost under stress.
// RUN: %stock_clang -O1 -fPIC -c %inputs/trash.c -o %t.trash.o
// RUN: %stock_clang -O2 -ffp-contract=off %inputs/kernels.c -o %t.stock && %t.stock > %t.want
// RUN: %polled -O2 -mllvm -sennit-polls-save=all -o %t.all && timeout 60 %t.all > %t.out && cmp %t.want %t.out
volatile int more;

// CHECK-LABEL: loop:
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: callq sennit_yield_rax_rcx_rdx_rsi_rdi_r8_r9_r10_r11_xmm0_{{.*}}_xmm15{{$}}
// AVX: callq sennit_yield_rax_{{.*}}_r11_ymm0_{{.*}}_ymm15{{$}}
// AVX512: callq sennit_yield_rax_{{.*}}_r11_zmm0_{{.*}}_zmm31_k0_{{.*}}_k7{{$}}
// LIVE: callq sennit_yield_none{{$}}
void loop(void) {
  while (more) {
  }
}
