// Each guard in a program: base pointers, variable arguments, objects by value, many words in a big frame.
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -O1 %s -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -O2 -fstack-clash-protection %s -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -O3 -march=native %s -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -Os -fPIC -fno-omit-frame-pointer %s -o %t %library && %t
// RUN: %make_aarch64_switch %t.switch.o
// RUN: %sennit_clangxx --target=aarch64-linux-gnu -static -O2 -fstack-clash-protection -mllvm -sennit-no-callee-save %s %t.switch.o -o %t.aarch64
// RUN: qemu-aarch64 %t.aarch64
#include <cstdarg>
#include <cstdio>

#include "Inputs/partner.h"

namespace {

volatile int zero;

NOINLINE long direct(long value) {
  return ask(value) + 1;
}

// Needs a base pointer: dynamic and over-aligned objects around a call.
template <long (*Callee)(long)>
NOINLINE long base_pointer(long n) {
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

bool failed = false;

void expect(const char* what, long got, long wanted) {
  if (got == wanted)
    return;
  std::printf("%s: %ld instead of %ld\n", what, got, wanted);
  failed = true;
}

}  // namespace

int main() {
  make_partner();
  const int z = zero;
  expect("base pointer", base_pointer<direct>(5 + z), 9);
  // With the switch in it; LLVM does not compile that under preserve_none.
  expect("base pointer and switch", base_pointer<ask>(5 + z), 8);
  expect("varargs", varargs(5 + z, 1, 2, 3, 4, 5 + z), 20);
  big given{};
  for (long i = 0; i < 9; ++i)
    given.words[i] = i + z;
  __asm__ volatile("" ::"r"(&given) : "memory");
  expect("by value", by_value(given, 7 + z), 15);
  expect("by value, the caller's", given.words[0], 0);
  expect("twelve words",
         twelve_words(1 + z, 2 + z, 3 + z, 4 + z, 5 + z, 6 + z, 7 + z, 8 + z, 9 + z, 10 + z, 11 + z, 12 + z),
         1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 + 81 + 100 + 1100 + 12000 + 1);
  return failed ? 1 : 0;
}
