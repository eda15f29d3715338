// Code with checks whose basic blocks have sections of their own builds and runs: a call and its check may be
// in different sections, but no check divides the range of a call that the exception table names.
// RUN: %stock_clang -O1 -c %inputs/trash.c -o %t.trash.o
// RUN: %polled_cxx -O2 -fbasic-block-sections=all -o %t && %t 2>&1 | FileCheck %s
// RUN: %polled_cxx -O0 -fbasic-block-sections=all -o %t && %t 2>&1 | FileCheck %s
// RUN: %polled_cxx -O2 -fbasic-block-address-map -o %t && %t 2>&1 | FileCheck %s
#include <cstdio>
#include <stdexcept>

static int destroyed = 0;
struct counted {
  ~counted() { ++destroyed; }
};

[[gnu::noinline]] bool more(int n) {
  if (n == 7)
    throw std::runtime_error("seven");
  return n < 10;
}

[[gnu::noinline]] int count(int n) {
  counted each;
  while (more(n))
    ++n;
  return n;
}

// CHECK: 10 seven 2
// CHECK: {{^[1-9][0-9]*}} yields
int main() {
  const int counts = count(8);
  const char* caught = "none";
  try {
    count(0);
  } catch (const std::runtime_error&) {
    caught = "seven";
  }
  std::printf("%d %s %d\n", counts, caught, destroyed);
  std::fflush(stdout);
}
