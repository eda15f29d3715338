// Reads of an address merge between two calls, and over stores; none is moved across a call, or out of a loop
// with one. Where the address is the thread pointer and a constant, it is two instructions.
// RUN: %sennit_clang -mllvm -sennit-fiber-tls -O2 -S %s -o - | FileCheck %s
// RUN: %sennit_clang -mllvm -sennit-fiber-tls -O2 -fPIC -S %s -o - | FileCheck %s --check-prefix PIC
// RUN: %sennit_clang --target=aarch64-linux-gnu -mllvm -sennit-fiber-tls -O2 -S %s -o - | FileCheck %s --check-prefix AARCH64
static _Thread_local int counts[8];
extern _Thread_local int elsewhere;
void anything(void);

void between(int* p, int i, int j);
void in_a_loop(int* p, int n);
void around(int i);
void around_assembly(int i);
void loop_around(int i, int n);
void other_unit(void);

// CHECK-LABEL: {{^}}between:
// CHECK: movq %fs:0, [[AT:%r[a-z0-9]+]]
// CHECK-NEXT: leaq counts@{{tpoff|TPOFF}}([[AT]]), [[AT]]
// CHECK-NOT: %fs
// CHECK-NOT: call
// CHECK: retq
// PIC-LABEL: {{^}}between:
// PIC: sennit.tls.counts
// PIC-NOT: sennit.tls.counts
// PIC: retq
// AARCH64-LABEL: {{^}}between:
// AARCH64: bl sennit.tls.counts
// AARCH64-NOT: bl
// AARCH64: ret
void between(int* p, int i, int j) {
  counts[i]++;
  *p = 1;
  counts[j]++;
}

// CHECK-LABEL: {{^}}in_a_loop:
// CHECK: movq %fs:0
// CHECK: [[LOOP:.LBB[0-9_]+]]: # =>
// CHECK-NOT: %fs
// CHECK: j{{[a-z]+}} [[LOOP]]
// CHECK: retq
// PIC-LABEL: {{^}}in_a_loop:
// PIC: sennit.tls.counts
// PIC: [[LOOP:.LBB[0-9_]+]]: # =>
// PIC-NOT: sennit.tls.counts
// PIC: j{{[a-z]+}} [[LOOP]]
void in_a_loop(int* p, int n) {
  for (int i = 0; i < n; ++i)
    p[i] = counts[i & 7]++;
}

// CHECK-LABEL: {{^}}around:
// CHECK: movq %fs:0
// CHECK: callq anything
// CHECK: movq %fs:0
// CHECK: retq
// PIC-LABEL: {{^}}around:
// PIC: callq sennit.tls.counts
// PIC: callq anything
// PIC: callq sennit.tls.counts
// PIC: ret
void around(int i) {
  counts[i]++;
  anything();
  counts[i]++;
}

// A switch is inline assembly.
// CHECK-LABEL: {{^}}around_assembly:
// CHECK: movq %fs:0
// CHECK: nop
// CHECK: movq %fs:0
// CHECK: retq
void around_assembly(int i) {
  counts[i]++;
  __asm__ volatile("nop" ::: "memory");
  counts[i]++;
}

// CHECK-LABEL: {{^}}loop_around:
// CHECK: [[LOOP:.LBB[0-9_]+]]:
// CHECK: callq anything
// CHECK: movq %fs:0
// CHECK: j{{[a-z]+}} [[LOOP]]
void loop_around(int i, int n) {
  for (; n > 0; --n) {
    anything();
    counts[i]++;
  }
}

// CHECK-LABEL: {{^}}other_unit:
// CHECK: callq sennit.tls.elsewhere
// CHECK: callq anything
// CHECK: callq sennit.tls.elsewhere
void other_unit(void) {
  elsewhere++;
  anything();
  elsewhere++;
}

// CHECK-NOT: sennit.tls.counts
// CHECK: {{^}}sennit.tls.elsewhere:
// CHECK: elsewhere@GOTTPOFF
