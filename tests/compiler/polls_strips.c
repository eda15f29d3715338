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

// The step is a variable: in a strip there is no more to do than without, and no check.
// CHECK-LABEL: by_variable_steps:
// CHECK: Inner Loop Header: Depth=2
// CHECK-NOT: sennit
// CHECK: movb $0
// CHECK-NOT: sennit
// CHECK: jl
// SMALL-LABEL: by_variable_steps:
// SMALL: Inner Loop Header: Depth=1
FUNCTION void by_variable_steps(unsigned char* p, long n, long step) {
  if (step <= 0)
    return;
  SCALAR for (long i = 2; i < n; i += step) p[i] = 0;
}

// However large it is.
// CHECK-LABEL: by_large_steps:
FUNCTION unsigned by_large_steps(unsigned from, unsigned long until, unsigned long step) {
  unsigned sum = 0;
  SCALAR for (unsigned long i = from; i < until && i + step > i; i += step) sum = sum * 3 ^ (unsigned)i;
  return sum;
}

// Bounds that may be met at once, up to the largest number there is.
// CHECK-LABEL: up_to:
FUNCTION unsigned up_to(int from, int last, int step) {
  unsigned sum = 0;
  int i = from;
  if (step <= 0)
    return 0;
  SCALAR do sum = sum * 3 ^ (unsigned)i;
  while (!__builtin_add_overflow(i, step, &i) && i <= last)
    ;
  return sum;
}

// Few rounds go through the inner loop. The others are in strips, and it has strips of its own. A strip is
// aligned also where its rounds fall into its first block.
// CHECK-LABEL: sieve:
// CHECK: Loop Header: Depth=1
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: je
// CHECK-NEXT: .p2align 4
// CHECK-NEXT: Parent Loop
// CHECK-NEXT: Loop Header: Depth=2
// CHECK-NOT: sennit
// CHECK: Loop Header: Depth=3
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: Inner Loop Header: Depth=4
// CHECK-NOT: sennit
// CHECK: retq
FUNCTION int sieve(unsigned char* p) {
  int primes = 0;
  for (int i = 2; i < 4999; ++i)
    if (p[i]) {
      ++primes;
      for (int j = 2 * i; j < 4999; j += i)
        p[j] = 0;
    }
  return primes;
}

// Two conditions in the latch, of which one counts: it counts down to zero in a strip, as it did. The inner
// loop has a bound, but not so many times: the check is where few rounds come by.
// CHECK-LABEL: chain:
// CHECK: cmpb $0, %fs:sennit_yield_requested@TPOFF
// CHECK: Parent Loop
// CHECK: decl
// CHECK-NEXT: jne
// CHECK: retq
FUNCTION unsigned chain(const unsigned* p, const unsigned* next, unsigned at, unsigned length) {
  unsigned best = 0;
  do {
    if (p[at] == p[7] && p[at + 1] == p[8] && p[at + 2] == p[9]) {
      unsigned same = 0;
      SCALAR while (same < 60 && p[at + same] == p[same])++ same;
      if (same > best)
        best = same;
    }
    at = next[at];
  } while (at > 9 && --length != 0);
  return best * 65536 + at;
}

#if defined(MAIN)
enum { size = 5000 };
static unsigned numbers[size + 1], next[size];
static unsigned char bytes[size];

static unsigned sum_of_bytes(void) {
  unsigned sum = 0;
  for (int i = 0; i < size; ++i)
    sum = sum * 31 + bytes[i], bytes[i] = 1;
  return sum;
}

int main(void) {
  static const long lengths[] = {0,   1,   2,   3,   7,   8,   9,    63,   64,   65,
                                 127, 128, 129, 511, 512, 513, 1023, 1024, 1025, 4999};
  for (int i = 0; i < size; ++i) {
    numbers[i] = (unsigned)i * 2654435761u | 1;
    bytes[i] = 1;
    next[i] = i < 4 ? 0 : (unsigned)i - 3;
  }
  printf("%d", sieve(bytes));
  printf(" %x\n", sum_of_bytes());
  for (int from = -2; from < 3; ++from)
    for (int last = -2; last < 700; last += 100)
      printf("%x %x\n", up_to(from, last, 1), up_to(from, last, 3));
  printf("%x %x %x\n", up_to(0x7ffff000, 0x7fffffff, 1), up_to(-5, 0x7fffffff, 0x1000000), up_to(3, -3, 2));
  printf("%x %x", by_large_steps(0, -1ul, 1ul << 50), by_large_steps(7, 1ul << 63, (1ul << 63) - 1));
  printf(" %x %x\n", by_large_steps(0, 100000, 3), by_large_steps(-1u, 3, 1));
  for (unsigned k = 0; k < sizeof lengths / sizeof *lengths; ++k) {
    const long n = lengths[k];
    printf("%ld: %x %x %x %x", n, up(numbers, n), down(numbers, n), pointer(numbers, numbers + n),
           by_steps(numbers, n));
    printf(" %ld %ld %x", left_early(numbers, n, numbers[n / 2]), left_early(numbers, n, 0),
           vectors(numbers, n));
    printf(" %x %x", wraps((unsigned short)n), odd_wraps((unsigned short)n));
    for (int step = -1; step < 20; step = step * 2 + 2) {
      by_variable_steps(bytes, n, step);
      printf(" %x", sum_of_bytes());
    }
    printf(" %x %x", chain(numbers, next, (unsigned)n, 4000),
           chain(numbers, next, (unsigned)n, (unsigned)n / 7 + 1));
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
