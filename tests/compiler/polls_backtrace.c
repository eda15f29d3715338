// From inside of a stub, backtraces name who was stopped, and his callers: with and without a frame pointer.
// RUN: %stock_clang -O1 -c %s -o %t.runtime.o -DRUNTIME
// RUN: %sennit_clang -g -O2 -rdynamic %s %t.runtime.o -o %t -mllvm -sennit-polls && timeout 60 %t
// RUN: %sennit_clang -g -O2 -fno-omit-frame-pointer -rdynamic %s %t.runtime.o -o %t -mllvm -sennit-polls && timeout 60 %t
// RUN: timeout 60 gdb -q -batch -ex "break sennit_forced_yield" -ex run -ex bt %t 2>&1 | FileCheck %s
// CHECK: #0 {{.*}}sennit_forced_yield
// CHECK-NEXT: #1 {{.*}} sennit_yield_
// CHECK-NEXT: #2 {{.*}} leaf
// CHECK-NEXT: #3 {{.*}} caller
// CHECK-NEXT: #4 {{.*}} main
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <string.h>

extern __thread volatile unsigned char sennit_yield_requested;
extern volatile int stop, right;

#if defined(RUNTIME)
__thread volatile unsigned char sennit_yield_requested;
volatile int stop, right;

static int is(void* address, const char* name) {
  Dl_info found;
  return dladdr(address, &found) != 0 && found.dli_sname != 0 && strcmp(found.dli_sname, name) == 0;
}

void sennit_forced_yield(void) {
  void* frames[8];
  const int count = backtrace(frames, 8);
  stop = 1;
  right = count >= 5 && is(frames[2], "leaf") && is(frames[3], "caller") && is(frames[4], "main");
}
#else

__attribute__((noinline)) int leaf(volatile int* end) {
  volatile int local[8] = {0};
  sennit_yield_requested = 1;
  while (!*end)
    ++local[3];
  return local[3];
}
__attribute__((noinline)) int caller(int n) {
  char room[n];
  __asm__ volatile("" : : "r"(room) : "memory");
  return leaf(&stop) + room[0];
}
int main(int count, char** arguments) {
  (void)arguments;
  caller(count);
  return right ? 0 : 1;
}
#endif
