// Backtraces go through suspended switches, whatever the frames are like, and end where a context begins that
// was entered by a direct jump: libgcc's and gdb's.
// RUN: %sennit_clang -g -O2 -rdynamic %s -o %t %library && timeout 60 %t
// RUN: %sennit_clang -g -O0 -rdynamic %s -o %t %library && timeout 60 %t
// RUN: %sennit_clang -g -O1 -fPIC -rdynamic %s -o %t %library && timeout 60 %t
// RUN: %sennit_clang -g -O2 -fno-omit-frame-pointer -rdynamic %s -o %t %library && timeout 60 %t
// RUN: timeout 60 gdb -q -batch -ex "break found" -ex run -ex bt -ex continue -ex bt %t 2>&1 | FileCheck %s
// CHECK: #0 {{.*}}found
// CHECK-NEXT: #1 {{.*}} inner
// CHECK-NEXT: #2 {{.*}} in_the_context
// CHECK-NEXT: #3 <signal handler called>
// CHECK: resumer (
// CHECK-NEXT: {{.*}} caller (
// CHECK-NEXT: {{.*}} main ()
// CHECK: #0 {{.*}}found
// CHECK-NEXT: #1 {{.*}} on_its_own
// CHECK-NEXT: #2 <signal handler called>
// CHECK-NOT: {{^}}#3
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sennit/swapstack.h"

#define NOINLINE __attribute__((noinline))

SENNIT_SWAPSTACK(ask, long, long)

static int checks;
static alignas(64) char stacks[2][65536];

NOINLINE void found(void) {
  ++checks;
}

// The names of the innermost frames, from the caller's on, are these, and no more if all of them are wanted.
static void expect(const char* const* names, int all) {
  void* frames[32];
  const int count = backtrace(frames, 32);
  int i = 1;  // 0 is ours
  for (; *names != 0; ++names, ++i) {
    Dl_info symbol;
    if (i >= count || dladdr(frames[i], &symbol) == 0 || symbol.dli_sname == 0 ||
        strncmp(symbol.dli_sname, *names, strlen(*names)) != 0) {
      printf("frame %d of %d is not %s\n", i, count, *names);
      exit(1);
    }
  }
  if (all && i != count) {
    printf("%d frames, not %d\n", count, i);
    exit(1);
  }
}

NOINLINE void inner(void) {
  static const char* const names[] = {"inner", "in_the_context", "sennit_enter", "resumer", "caller", "main",
                                      0};
  expect(names, 0);
  found();
  ++checks;  // that was no tail call
}

void in_the_context(sennit_context from, uintptr_t value, uintptr_t v1, uintptr_t v2, uintptr_t v3) {
  (void)v1, (void)v2, (void)v3;
  for (;;) {
    *(sennit_context*)(stacks[0] + sizeof stacks[0] - 64) = from;
    inner();
    const ask_transfer got = ask(from, (long)value + 1);
    from = got.from;
    value = (uintptr_t)got.value;
  }
}

// Over-aligned and dynamic objects: the frame is not found by rsp.
NOINLINE long resumer(sennit_context* context, long n) {
  alignas(64) volatile char aligned[64];
  volatile char dynamic[n + 1];
  aligned[n] = dynamic[n] = 1;
  const ask_transfer got = ask(*context, n);
  *context = got.from;
  return got.value + aligned[n] + dynamic[n];
}

NOINLINE long caller(sennit_context* context, long n) {
  return resumer(context, n) + n;
}

void on_its_own(sennit_context from, uintptr_t value, uintptr_t v1, uintptr_t v2, uintptr_t v3) {
  (void)v1, (void)v2, (void)v3;
  static const char* const names[] = {"on_its_own", "sennit_enter", 0};
  expect(names, 1);
  found();
  ask(from, (long)value + 1);
}

int main(void) {
  sennit_context* top = (sennit_context*)(stacks[0] + sizeof stacks[0] - 64);
  sennit_context context = sennit_newlinked(top, in_the_context);
  if (caller(&context, 3) != 9)
    return 1;
  if (ask(sennit_newstack(stacks[1] + sizeof stacks[1], on_its_own), 5).value != 6)
    return 1;
  return checks == 3 ? 0 : 1;
}
