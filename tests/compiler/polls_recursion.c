// The entry of a function that may be called by whom it calls has a check; of others it has not.
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls | FileCheck %s
void unknown(void);

// CHECK-LABEL: itself:
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: callq itself
// CHECK-LABEL: leaf:
// CHECK-NOT: sennit_yield
// CHECK-LABEL: calls_leaf:
// CHECK-NOT: sennit_yield
// CHECK-LABEL: by_tail_call:
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: jmp unknown
// CHECK-LABEL: each:
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK-LABEL: other:
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK-LABEL: calls_library:
// CHECK-NOT: sennit_yield
// CHECK: retq
// CHECK-LABEL: sorts:
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: {{callq|jmp}} qsort
long itself(long n) {
  return n < 2 ? n : itself(n / 2) * itself(n - 2);
}
__attribute__((noinline)) long leaf(long n) {
  return n * 3;
}
long calls_leaf(long n) {
  return leaf(n) + leaf(n + 1);
}
void by_tail_call(void) {
  unknown();
}
long other(long n);
__attribute__((noinline)) long each(long n) {
  return n < 2 ? n : other(n - 1) + 1;
}
__attribute__((noinline)) long other(long n) {
  return n < 2 ? n : each(n - 2) * 3;
}

// Of the C library, some call back.
void* malloc(unsigned long);
void* realloc(void*, unsigned long);
void qsort(void*, unsigned long, unsigned long, int (*)(const void*, const void*));
void* calls_library(void* p, unsigned long size) {
  return p == 0 ? malloc(size) : (void*)((char*)realloc(p, size) + 1);
}
void sorts(int* all, int (*compare)(const void*, const void*)) {
  qsort(all, 10, 4, compare);
}
