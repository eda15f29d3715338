// No check stands between an exclusive load and its store: another fiber's load would be taken for it.
// RUN: %sennit_clang %aarch64 -mno-outline-atomics -O2 -S %s -o - -mllvm -sennit-polls %verify | FileCheck %s
// RUN: %sennit_clang %aarch64 -mno-outline-atomics -O2 -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-placement=max | FileCheck %s
// RUN: %sennit_clang %aarch64 -mno-outline-atomics -O0 -S %s -o - -mllvm -sennit-polls %verify | FileCheck %s
// RUN: %sennit_clang %aarch64 -mno-outline-atomics -O0 -S %s -o - -mllvm -sennit-polls -mllvm -sennit-polls-placement=max | FileCheck %s

// CHECK-LABEL: add:
// CHECK: ldaxr
// CHECK-NOT: sennit_yield_requested
// CHECK: stlxr
int add(int* p, int n) {
  return __atomic_fetch_add(p, n, __ATOMIC_SEQ_CST);
}

// CHECK-LABEL: exchange:
// CHECK: ldaxr
// CHECK-NOT: sennit_yield_requested
// CHECK: stlxr
_Bool exchange(long* p, long expected, long wanted) {
  return __atomic_compare_exchange_n(p, &expected, wanted, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
