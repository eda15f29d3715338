// From inside of every kind of stub, backtraces name who was stopped, and his callers: with what a stub saves
// (nothing, general registers, vectors of each width, masks, the x87 state, all), in leaves with a red zone
// and functions with a frame, of any size too, and where a check saves a register on the stack.
// RUN: %stock_clang -O1 -fPIC -c %s -o %t.runtime.o -DRUNTIME
// RUN: %sennit_clang -g -O2 %s %t.runtime.o -o %t -mllvm -sennit-polls %verify && timeout 60 %t
// RUN: timeout 60 gdb -q -batch -ex "break sennit_forced_yield" -ex run -ex bt %t 2>&1 | FileCheck %s --check-prefix=GDB
// GDB: #0 {{.*}}sennit_forced_yield
// GDB-NEXT: #1 {{.*}} sennit_yield_
// GDB-NEXT: #2 {{.*}} leaf
// GDB-NEXT: #3 {{.*}} caller
// GDB-NEXT: #4 {{.*}} main
// RUN: %sennit_clang -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer %s %t.runtime.o -o %t -mllvm -sennit-polls %verify && timeout 60 %t
// RUN: %sennit_clang -O2 -fPIC -fomit-frame-pointer %s %t.runtime.o -o %t -mllvm -sennit-polls %verify && timeout 60 %t
// RUN: %sennit_clang -O2 -mno-red-zone %s %t.runtime.o -o %t -mllvm -sennit-polls %verify && timeout 60 %t
// RUN: %sennit_clang -O2 -mavx2 %s %t.runtime.o -o %t -mllvm -sennit-polls %verify
// RUN: not grep -q avx2 /proc/cpuinfo || timeout 60 %t
// RUN: %sennit_clang -O3 -march=native %s %t.runtime.o -o %t -mllvm -sennit-polls %verify && timeout 60 %t
// RUN: %sennit_clang -O2 %s %t.runtime.o -o %t -mllvm -sennit-polls -mllvm -sennit-polls-save=all %verify && timeout 60 %t
// RUN: %sennit_clang -O2 %s %t.runtime.o -o %t -mllvm -sennit-polls -mllvm -sennit-polls-placement=max %verify && timeout 60 %t
// RUN: %sennit_clang -O0 %s %t.runtime.o -o %t -mllvm -sennit-polls %verify && timeout 60 %t
//
// The kinds are what they are called.
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls | FileCheck %s --check-prefixes=KINDS,SSE
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls -mavx2 | FileCheck %s --check-prefixes=KINDS,AVX
// RUN: %sennit_clang -O2 -S %s -o - -mllvm -sennit-polls -fPIC -fomit-frame-pointer | FileCheck %s --check-prefix=PIC
#include "Inputs/backtrace.h"

#if !defined(RUNTIME)

#define NOINLINE __attribute__((noinline))

// KINDS-LABEL: {{^}}leaf:
// KINDS: {{addq \$-128|leaq -128\(%rsp\)}}, %rsp
// KINDS: callq sennit_yield_rdi{{$}}
NOINLINE static long leaf(volatile int* end) {
  sennit_yield_requested = 1;
  while (!*end) {
  }
  return 1;
}

NOINLINE static long leaf_with_frame(volatile int* end) {
  sennit_yield_requested = 1;
  volatile int local[800] = {0};
  while (!*end)
    ++local[3];
  return local[3];
}

NOINLINE static void other(void) {
  __asm__ volatile("");
}

// KINDS-LABEL: {{^}}not_leaf:
// KINDS-NOT: $-128
// KINDS: callq sennit_yield_none{{$}}
NOINLINE static long not_leaf(volatile int* end) {
  sennit_yield_requested = 1;
  while (!*end)
    other();
  return 1;
}

// Saves its callers' registers on one way only.
NOINLINE static long with_a_late_frame(volatile int* end) {
  sennit_yield_requested = 1;
  while (!*end) {
  }
  if (*end == 1)
    return 1;
  other();
  return *end;
}

NOINLINE static long of_any_size(volatile int* end) {
  sennit_yield_requested = 1;
  volatile char room[stop + 8];
  while (!*end)
    room[2] = 1;
  return room[2];
}

NOINLINE static long over_aligned(volatile int* end) {
  sennit_yield_requested = 1;
  volatile _Alignas(128) char room[stop + 256];
  while (!*end)
    room[2] = 1;
  return room[2];
}

typedef float vector __attribute__((vector_size(16)));
typedef float wide __attribute__((vector_size(32)));
typedef float widest __attribute__((vector_size(64)));

// KINDS-LABEL: {{^}}vectors:
// KINDS: callq sennit_yield_{{(avx_)?}}rdi{{.*}}xmm
NOINLINE static long vectors(volatile int* end) {
  sennit_yield_requested = 1;
  vector sum = {1};
  do
    __asm__ volatile("" : "+x"(sum));
  while (!*end);
  return (long)sum[0];
}

// KINDS-LABEL: {{^}}wide_vectors:
// SSE: callq sennit_yield_rdi{{.*}}xmm
// AVX: callq sennit_yield_rdi_ymm
NOINLINE static long wide_vectors(volatile int* end) {
  sennit_yield_requested = 1;
  wide sum = {1};
  do
    sum += (float)*end;
  while (!*end);
  return (long)sum[0] != 0;
}

NOINLINE static long widest_vectors(volatile int* end) {
  sennit_yield_requested = 1;
  widest sum = {1};
  do
    sum += (float)*end;
  while (!*end);
  return (long)sum[0] != 0;
}

#if defined(__AVX512BW__)
NOINLINE static long masks(volatile int* end) {
  sennit_yield_requested = 1;
  unsigned long long mask = 1;
  do
    __asm__ volatile("" : "+Yk"(mask));
  while (!*end);
  return (long)mask;
}
#endif

// KINDS-LABEL: {{^}}extended:
// KINDS: callq sennit_yield_{{(avx_)?}}rdi{{.*}}x87{{$}}
NOINLINE static long extended(volatile int* end) {
  sennit_yield_requested = 1;
  long double sum = 1;
  do
    sum += *end;
  while (!*end);
  return (long)sum != 0;
}

// No register is left to find the flag by, in code for shared objects: one is moved to the stack.
// PIC-LABEL: {{^}}all_registers:
// PIC: pushq %rax
// PIC: movq sennit_yield_requested@GOTTPOFF(%rip), %rax
// PIC: popq %rax
NOINLINE static long all_registers(volatile int* end) {
  (void)end;
  sennit_yield_requested = 1;
  long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
  long i = 1, j = 2, k = 3, l = 4, m = 5, n = 6;
  do
    __asm__ volatile(""
                     : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h), "+r"(i),
                       "+r"(j), "+r"(k), "+r"(l), "+r"(m), "+r"(n));
  while (!stop);
  return a + b + c + d + e + f + g + h + i + j + k + l + m + n;
}

// Of a size that is not known.
NOINLINE long caller(function* called) {
  volatile char room[wanted == called ? 2 : 1];
  room[0] = 0;
  return called(&stop) + room[0];
}

int main(void) {
  static const struct {
    const char* name;
    function* called;
  } all[] = {
#define EACH(f) {#f, f}
      EACH(leaf),           EACH(leaf_with_frame), EACH(not_leaf),      EACH(with_a_late_frame),
      EACH(of_any_size),    EACH(over_aligned),    EACH(vectors),       EACH(wide_vectors),
      EACH(widest_vectors), EACH(extended),        EACH(all_registers),
#if defined(__AVX512BW__)
      EACH(masks),
#endif
  };
  int wrong = 0;
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) {
    wanted = all[i].called;
    right = stop = 0;
    caller(wanted);
    if (!right) {
      printf("%s: its backtrace is wrong\n", all[i].name);
      wrong = 1;
    }
  }
  return wrong;
}
#endif
