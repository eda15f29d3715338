// What stubs save on AArch64: general registers and vectors as a whole, flags, the upper half of v8 to v15.
// RUN: %sennit_clang %aarch64 -O2 -S %s -o - -mllvm -sennit-polls %verify | FileCheck %s
// RUN: %sennit_clang %aarch64 -O2 -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-placement=max %verify | FileCheck %s --check-prefix MAX
// RUN: %sennit_clang %aarch64 -O2 -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-save=all %verify | FileCheck %s --check-prefix ALL
// RUN: %sennit_clang %aarch64 -O2 -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-save=all -ffixed-x18 -DGENERAL -mgeneral-regs-only | FileCheck %s --check-prefix FEW
typedef float wide __attribute__((vector_size(16)));
volatile int more;

// ALL-LABEL: general:
// ALL: bl sennit_yield_x0_x1_{{.*}}_x17_x18_v0_v1_{{.*}}_v8_v9_{{.*}}_v31_nzcv{{$}}
// FEW-LABEL: general:
// FEW: bl sennit_yield_x0_x1_{{.*}}_x16_x17_nzcv{{$}}

// CHECK-LABEL: general:
// CHECK: stp x29, x30, [sp, #-16]!
// CHECK: .cfi_offset w29, -16
// CHECK: mov x29, sp
// CHECK: .cfi_def_cfa w29, 16
// CHECK: sub sp, sp, #[[SIZE:[0-9]+]]
// CHECK: stp x0, x8, [sp]
// CHECK: .cfi_offset w0, -{{[0-9]+}}
// CHECK: bl sennit_forced_yield
// CHECK-NEXT: ldp x0, x8, [sp]
// CHECK: mov sp, x29
// CHECK-NEXT: ldp x29, x30, [sp], #16
// CHECK: ret
// CHECK: bl sennit_yield_x0_x8_x{{[0-9]+}}{{$}}
long general(volatile long* p) {
  do
    *p += 1;
  while (more);
  return 0;
}

#if !defined(GENERAL)
// CHECK-LABEL: scalar:
// CHECK: str q0, [sp, #[[AT:[0-9]+]]]
// CHECK-NEXT: bl sennit_forced_yield
// CHECK-NEXT: ldr q0, [sp, #[[AT]]]
// CHECK: bl sennit_yield_x0_{{.*}}_v0{{$}}
double scalar(volatile double* p) {
  double sum = 0;
  do
    sum += *p;
  while (more);
  return sum;
}

// A call keeps the lower half of v8, and that is all that is used of it.
// CHECK-LABEL: lower_half:
// CHECK-NOT: q8
// CHECK: bl sennit_yield_{{[x0-9_]+$}}
// CHECK: .size lower_half
double lower_half(volatile double* p) {
  register double kept __asm__("d8");
  __asm__ volatile("fmov %d0, #1.0" : "=w"(kept));
  do
    __asm__ volatile("" : "+w"(kept));
  while (*p != 0);
  __asm__ volatile("" : "+w"(kept));
  return kept;
}

// CHECK-LABEL: upper_half:
// CHECK: str q8, [sp
// CHECK-NEXT: bl sennit_forced_yield
// CHECK-NEXT: ldr q8, [sp
// CHECK: bl sennit_yield_{{.*}}_v8{{$}}
void upper_half(volatile int* p) {
  register wide kept __asm__("v8");
  __asm__ volatile("movi %0.4s, #1" : "=w"(kept));
  do
    __asm__ volatile("" : "+w"(kept));
  while (*p);
  __asm__ volatile("" : : "w"(kept));
}

// Where a check is so placed that the flags are live they are kept.
// MAX-LABEL: flags:
// MAX: mrs x9, NZCV
// MAX-NEXT: str x9, [sp, #[[AT:[0-9]+]]]
// MAX: bl sennit_forced_yield
// MAX: ldr x9, [sp, #[[AT]]]
// MAX-NEXT: msr NZCV, x9
// MAX-NEXT: ldp
// MAX: bl sennit_yield_{{.*}}_nzcv{{$}}
int flags(volatile int* p) {
  int kept = 0;
  do {
    const int a = *p;
    const _Bool less = a < kept;
    kept = less ? a * kept : a + 3;
    *p = less ? kept : 7;
  } while (more);
  return kept;
}
#endif
