// Exceptions through marked functions: what their callers keep alive is there in the handler, and functions
// further out get the registers back that they know as kept.
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -O2 -S -emit-llvm %s -o - | FileCheck %s
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -O1 %s -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -O2 %s -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -O2 -fno-omit-frame-pointer -fPIC %s -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -O3 -march=native %s -o %t %library && %t
// RUN: %sennit_clangxx -mllvm -sennit-no-callee-save -Os %s -o %t %library && %t
// RUN: %make_aarch64_switch %t.switch.o
// RUN: %sennit_clangxx --target=aarch64-linux-gnu -static -O2 -mllvm -sennit-no-callee-save %s %t.switch.o -o %t.aarch64
// RUN: qemu-aarch64 %t.aarch64
#include <cstdio>
#include <string>

#include "Inputs/partner.h"

namespace {

// CHECK-DAG: define internal {{.*}}preserve_nonecc {{.*}}throws
NOINLINE long throws(long n) {
  const long answer = ask(n);
  trash();
  if (answer % 3 == 0)
    throw answer;
  return answer;
}

struct counted {
  long* counter;
  explicit counted(long* c) : counter(c) { ++*c; }
  ~counted() { --*counter; }
};

// CHECK-DAG: define internal {{.*}}preserve_nonecc {{.*}}cleans_up
NOINLINE long cleans_up(long n, long* alive) {
  counted here(alive);
  return throws(n) + throws(n + 3);
}

// CHECK-DAG: define internal {{.*}}preserve_nonecc {{.*}}catches
NOINLINE long catches(long n, long* alive) {
  const long a = n * 3, b = n * 5, c = n * 7, d = n * 11, e = n * 13, f = n * 17;
  long got;
  try {
    got = cleans_up(n, alive);
  } catch (long caught) {
    got = -caught;
  }
  return got + a + b + c + d + e + f;
}

NOINLINE long wanted(long n) {
  return (n % 3 == 0 ? -n : 2 * n + 3) + n * (3 + 5 + 7 + 11 + 13 + 17);
}

}  // namespace

// Not marked, with many values in registers that must come back.
extern "C" NOINLINE long outside(long n, long* alive, long (*call)(long, long*)) {
  const long a = n ^ 1, b = n ^ 2, c = n ^ 3, d = n ^ 4, e = n ^ 5;
  long sum = 0;
  for (long i = 0; i < 10; ++i) {
    try {
      sum += call(n + i, alive);
    } catch (const std::string&) {
      sum += 1000;
    }
  }
  return sum + a + b + c + d + e;
}

// Seen from outside: saves what the marked ones do not, and lets their exceptions out.
extern "C" long entry(long n, long* alive) {
  if (catches(n, alive) != wanted(n))
    __builtin_abort();
  trash();
  if (n % 2 == 0)
    throw std::string("out");
  return n;
}

extern "C" long lets_through(long n, long* alive) {
  try {
    return cleans_up(n, alive);
  } catch (long) {
    trash();
    throw std::string("out");
  }
}

int main() {
  make_partner();
  long alive = 0;
  for (long n = 0; n < 100; ++n) {
    const long marks = (n ^ 1) + (n ^ 2) + (n ^ 3) + (n ^ 4) + (n ^ 5);
    long first = marks, second = marks;
    for (long i = n; i < n + 10; ++i) {
      first += i % 2 == 0 ? 1000 : i;
      second += i % 3 == 0 ? 1000 : 2 * i + 3;
    }
    if (outside(n, &alive, entry) != first || outside(n, &alive, lets_through) != second || alive != 0) {
      std::printf("wrong at %ld\n", n);
      return 1;
    }
  }
}
