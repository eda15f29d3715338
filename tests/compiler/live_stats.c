// How many registers are live where: as it is read off the code.
// RUN: rm -f %t && %sennit_clang -O2 -fno-asynchronous-unwind-tables -S %s -o %t.s -mllvm -sennit-live-stats=%t
// RUN: FileCheck %s --check-prefix CODE < %t.s
// RUN: FileCheck %s < %t

// Before lea two, before ret eax.
// CODE-LABEL: sum:
// CODE: leal (%rdi,%rsi), %eax
// CODE-NEXT: retq
// CHECK-DAG: {"at_calls":0,"blocks":{{\[\[}}2,2,1,1,-1]],"function":"sum","points":[0,1,1]}
int sum(int a, int b) {
  return a + b;
}

// Before the call, and behind it, none is: fewer than anywhere else.
// CODE-LABEL: call:
// CODE: pushq %rax
// CODE-NEXT: addl %edx, %esi
// CODE-NEXT: movl %esi, (%rdi)
// CODE-NEXT: callq other
// CODE-NEXT: movl $1, %eax
// CODE-NEXT: popq %rcx
// CODE-NEXT: retq
// CHECK-DAG: {"at_calls":2,"blocks":{{\[\[}}3,3,1,0,1]],"function":"call","points":[2,2,1,2]}
void other(void);
int call(int* place, int a, int b) {
  *place = a + b;
  other();
  return 1;
}

// One vector register is one, as wide as it may be; flags are none.
// CODE-LABEL: largest:
// CHECK-DAG: {"at_calls":0,"blocks":{{\[\[}}2,2,1,1,-1]],"function":"largest","points":[0,1,1]}
double largest(double a, double b) {
  return a > b ? a : b;
}

// In a loop what goes round is live, at both ends of its block, whatever reads it.
// CODE-LABEL: loop:
// CODE: xorq (%rdi), %rax
// CODE-NEXT: addq $8, %rdi
// CODE-NEXT: decq %rsi
// CHECK-DAG: [3,3,3,3,-1],{{.*}}"function":"loop"
long loop(const long* at, long n) {
  long result = 0;
#pragma clang loop unroll(disable) vectorize(disable)
  for (; n > 0; --n)
    result ^= *at++;
  return result;
}
