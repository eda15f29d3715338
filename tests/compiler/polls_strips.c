// Long counted loops are gone round in strips: a check for each, and in a strip none. Whatever they count.
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls -mllvm -verify-machineinstrs | FileCheck %s
// RUN: %sennit_clang -Os -S %s -o - -mllvm -sennit-polls | FileCheck %s --check-prefix SMALL
// RUN: %stock_clang -O1 -fPIC -c %inputs/trash.c -o %t.trash.o
// RUN: %stock_clang -O2 -DMAIN %s -o %t.stock && %t.stock > %t.want
// RUN: %sennit_clang -O2 -DMAIN %s %t.trash.o -o %t -mllvm -sennit-polls && timeout 60 %t > %t.out && cmp %t.want %t.out
// RUN: %sennit_clang -O2 -DMAIN %s %t.trash.o -o %t -mllvm -sennit-polls -mllvm -sennit-polls-limit=300 && timeout 60 %t > %t.out && cmp %t.want %t.out
// RUN: %sennit_clang -O3 -march=native -DMAIN %s %t.trash.o -o %t -mllvm -sennit-polls -mllvm -sennit-polls-limit=700 && timeout 60 %t > %t.out && cmp %t.want %t.out
#include <stdio.h>
#define SCALAR _Pragma("clang loop unroll(disable) vectorize(disable)")
#define FUNCTION __attribute__((noinline))

// The outer loop has the check, the inner one is as it was.
// CHECK-LABEL: up:
// CHECK: Child Loop
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: Inner Loop Header
// CHECK-NOT: sennit
// CHECK: xorl
// CHECK-NOT: sennit
// CHECK: jne
// CHECK: retq
// SMALL-LABEL: up:
// SMALL: Inner Loop Header: Depth=1
FUNCTION unsigned up(const unsigned* p, long n) {
  unsigned sum = 0;
  SCALAR for (long i = 0; i < n; ++i) sum = sum * 3 ^ p[i];
  return sum;
}

// CHECK-LABEL: down:
// CHECK: Inner Loop Header: Depth=2
FUNCTION unsigned down(const unsigned* p, long n) {
  unsigned sum = 0;
  SCALAR for (long i = n; i != 0; --i) sum = sum * 3 ^ p[i - 1];
  return sum;
}

// CHECK-LABEL: pointer:
// CHECK: Inner Loop Header: Depth=2
FUNCTION unsigned pointer(const unsigned* p, const unsigned* end) {
  unsigned sum = 1;
  SCALAR for (; p != end; ++p) sum = sum * 5 ^ *p;
  return sum;
}

// CHECK-LABEL: by_steps:
FUNCTION unsigned by_steps(const unsigned* p, long n) {
  unsigned sum = 1;
  SCALAR for (long i = 0; i < n; i += 3) sum = sum * 5 ^ p[i];
  return sum;
}

// CHECK-LABEL: left_early:
FUNCTION long left_early(const unsigned* p, long n, unsigned wanted) {
  SCALAR for (long i = 0; i < n; ++i) if (p[i] == wanted) return i;
  return -n;
}

// CHECK-LABEL: vectors:
// CHECK: Inner Loop Header: Depth=2
// CHECK: paddd
FUNCTION unsigned vectors(const unsigned* p, long n) {
  unsigned sum = 0;
  for (long i = 0; i < n; ++i)
    sum += p[i] * 7;
  return sum;
}

// It ends where the number has gone all the way round.
// CHECK-LABEL: wraps:
FUNCTION unsigned wraps(unsigned short from) {
  unsigned sum = 0;
  unsigned short i = from;
  SCALAR do sum = sum * 3 ^ i;
  while (++i != 0)
    ;
  return sum;
}

// CHECK-LABEL: odd_wraps:
FUNCTION unsigned odd_wraps(unsigned short until) {
  unsigned sum = 0;
  unsigned short i = 0;
  SCALAR do sum = sum * 3 ^ i;
  while ((i += 7) != until)
    ;
  return sum;
}

// Nobody knows how often: by copies of the round, of which one has the check.
// CHECK-LABEL: unrolled:
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK-COUNT-3: imull
// CHECK-NOT: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: retq
FUNCTION long unrolled(const unsigned* p, unsigned* product) {
  long n = 0;
  while (*p != 0)
    *product *= *p++, ++n;
  return n;
}

#if defined(MAIN)
enum { size = 5000 };
static unsigned numbers[size + 1];

int main(void) {
  static const long lengths[] = {0,   1,   2,   3,   7,   8,   9,    63,   64,   65,
                                 127, 128, 129, 511, 512, 513, 1023, 1024, 1025, 4999};
  for (int i = 0; i < size; ++i)
    numbers[i] = (unsigned)i * 2654435761u | 1;
  for (unsigned k = 0; k < sizeof lengths / sizeof *lengths; ++k) {
    const long n = lengths[k];
    printf("%ld: %x %x %x %x", n, up(numbers, n), down(numbers, n), pointer(numbers, numbers + n),
           by_steps(numbers, n));
    printf(" %ld %ld %x", left_early(numbers, n, numbers[n / 2]), left_early(numbers, n, 0),
           vectors(numbers, n));
    printf(" %x %x", wraps((unsigned short)n), odd_wraps((unsigned short)n));
    const unsigned kept = numbers[n];
    unsigned product = 1;
    numbers[n] = 0;
    printf(" %ld", unrolled(numbers, &product));
    printf(" %x\n", product);
    numbers[n] = kept;
  }
  return 0;
}
#endif
