// Each guard in a program: base pointers, variable arguments, objects by value, many words in a big frame,
// callers that are not in sight or call by another type, musttail, naked.
// RUN: %stock_clangxx -O1 -DOTHER_UNIT -c %s -o %t.other.o
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -O1 %s %t.other.o -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -O2 -fstack-clash-protection %s %t.other.o -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -O3 -march=native %s %t.other.o -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -Os -fPIC -fno-omit-frame-pointer %s %t.other.o -o %t %library && %t
// RUN: %make_aarch64_switch %t.switch.o
// RUN: %stock_clangxx %aarch64 -O1 -DOTHER_UNIT -c %s -o %t.other.aarch64.o
// RUN: %sennit_clangxx %aarch64 -static -O2 -fstack-clash-protection -mllvm -sennit-no-callee-save %s %t.other.aarch64.o %t.switch.o -o %t.aarch64
// RUN: qemu-aarch64 %t.aarch64
//
// And without each of them: it does not compile, or is wrong. (Special parameters:
// no_callee_save_special.ll.)
// RUN: %without=base-pointer -DCALLER_ALONE %s %t.other.o %library && not timeout 20 %t.wrong
// RUN: not %without=base-pointer %s %t.other.o %library 2>&1 | FileCheck %s --check-prefix=BASE-POINTER
// BASE-POINTER: error: {{.*}}not supported
// RUN: %without=varargs %s %t.other.o %library && not timeout 20 %t.wrong | FileCheck %s --check-prefix=VARARGS
// VARARGS: varargs: {{[-0-9]+}} instead of 90
// RUN: %without=by-value %s %t.other.o %library && not timeout 20 %t.wrong | FileCheck %s --check-prefix=BY-VALUE
// BY-VALUE: by value, the caller's: {{[-0-9]+}} instead of 0
// RUN: %without=words -fstack-clash-protection %s %t.other.o %library && not timeout 20 %t.wrong
// RUN: %without=linkage %s %t.other.o %library && not timeout 20 %t.wrong | FileCheck %s --check-prefix=LINKAGE
// LINKAGE: from another unit: {{[-0-9]+}} instead of 8
// RUN: %without=address %s %t.other.o %library && not timeout 20 %t.wrong
// RUN: %without=naked %s %t.other.o %library && not timeout 20 %t.wrong | FileCheck %s --check-prefix=NAKED
// NAKED: naked: {{[-0-9]+}} instead of 6
// RUN: %without=musttail %s %t.other.o %library && not timeout 20 %t.wrong
//
// A call by another type is right without its guard, too: it is given the convention as others are, and words
// are handed over in one order. That guard is for types that differ in more; no such program was found.
// RUN: %without=type %s %t.other.o %library && timeout 20 %t.wrong
#if defined(OTHER_UNIT)
long seen_by_other_units(long value);
long call_from_another_unit(long value);
long call_from_another_unit(long value) {
  return seen_by_other_units(value) + 1;
}
#else
#include <cstdarg>
#include <cstdio>

#include "Inputs/partner.h"

namespace {

#if defined(CALLER_ALONE)
#define AS_SEEN_FROM_ELSEWHERE [[gnu::used]]
#else
#define AS_SEEN_FROM_ELSEWHERE
#endif

volatile int zero;

// Uses the register of base pointers, as it may.
NOINLINE long direct(long value) {
  const long answer = ask(value) + 1;
#if defined(__x86_64__)
  __asm__ volatile("movq $-7, %%rbx" ::: "rbx");
#else
  __asm__ volatile("mov x19, #-7" ::: "x19");
#endif
  return answer;
}

// Needs a base pointer: dynamic and over-aligned objects around a call.
template <long (*Callee)(long)>
NOINLINE AS_SEEN_FROM_ELSEWHERE long base_pointer(long n) {
  alignas(64) volatile char aligned[64];
  auto* dynamic = static_cast<volatile char*>(__builtin_alloca(static_cast<std::size_t>(n)));
  aligned[n] = 1;
  dynamic[n - 1] = 2;
  const long answer = Callee(n);
  return answer + aligned[n] + dynamic[n - 1];
}

NOINLINE long varargs(int count, ...) {
  long sum = ask(count);
  va_list list;
  va_start(list, count);
  for (int i = 0; i < count; ++i)
    sum += va_arg(list, int);
  va_end(list);
  return sum;
}

struct big {
  long words[9];
};

// What it writes is its own copy's.
NOINLINE long by_value(big given, long more) {
  given.words[0] += ask(more);
  __asm__ volatile("" ::"r"(&given) : "memory");
  return given.words[0] + given.words[8];
}

NOINLINE long twelve_words(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,
                           long k, long l) {
  volatile char frame[100000];
  frame[a * 7] = 1;
  const long answer = ask(a);
  return answer + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 100 * k +
         1000 * l + frame[a * 7];
}

NOINLINE long of_its_own_type(long a, long b, long c, long d, long e, long f, long g, long h, long i) {
  return ask(a) + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

NOINLINE long has_an_address(long value) {
  return ask(value) + 4;
}
long (*volatile address)(long) = has_an_address;

NOINLINE long tail_to(long value) {
  return ask(value) + 2;
}
NOINLINE long tail_from(long value) {
  if (ask(value) == 0)
    return 0;
  [[clang::musttail]] return tail_to(value);
}
long (*volatile not_marked_for_its_address)(long) = tail_from;

[[gnu::naked]] NOINLINE long naked(long) {
#if defined(__x86_64__)
  __asm__("/* sennit: a switch */ leaq 1(%rdi), %rax\n\tret");
#else
  __asm__("/* sennit: a switch */ add x0, x0, #1\n\tret");
#endif
}

bool failed = false;

void expect(const char* what, long got, long wanted) {
  if (got == wanted)
    return;
  std::printf("%s: %ld instead of %ld\n", what, got, wanted);
  failed = true;
}

}  // namespace

long seen_by_other_units(long value);
NOINLINE long seen_by_other_units(long value) {
  return ask(value) + 2;
}
long call_from_another_unit(long value);

int main() {
  make_partner();
  const int z = zero;
  expect("base pointer", base_pointer<direct>(5 + z), 9);
#if !defined(CALLER_ALONE)
  // With the switch in it; LLVM does not compile that under preserve_none.
  expect("base pointer and switch", base_pointer<ask>(5 + z), 8);
#endif
  expect("varargs", varargs(12 + z, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 + z), 90);
  big given{};
  for (long i = 0; i < 9; ++i)
    given.words[i] = i + z;
  __asm__ volatile("" ::"r"(&given) : "memory");
  expect("by value", by_value(given, 7 + z), 15);
  expect("by value, the caller's", given.words[0], 0);
  expect("twelve words",
         twelve_words(1 + z, 2 + z, 3 + z, 4 + z, 5 + z, 6 + z, 7 + z, 8 + z, 9 + z, 10 + z, 11 + z, 12 + z),
         1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 + 81 + 100 + 1100 + 12000 + 1);
  expect("from another unit", call_from_another_unit(5 + z), 8);
  expect("by its address", address(5 + z), 9);
  expect("by another type",
         reinterpret_cast<int (*)(long, ...)>(of_its_own_type)(5 + z, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L), 245);
  expect("musttail", not_marked_for_its_address(5 + z), 7);
  expect("naked", naked(5 + z), 6);
  return failed ? 1 : 0;
}
#endif
