// The report names, with its line, what is asked for anew after a call that may switch, and is not read anew.
// RUN: rm -f %t && %sennit_clang -O2 -fPIC -gline-tables-only -c %s -o %t.o -mllvm -sennit-tls-report=%t
// RUN: FileCheck %s < %t
// RUN: rm -f %t && %sennit_clang -O2 -gline-tables-only -c %s -o %t.o -mllvm -sennit-tls-report=%t
// RUN: FileCheck %s --check-prefix PROGRAM < %t
// Nothing with the option that mends it, and nothing where nothing is kept.
// RUN: rm -f %t && touch %t && %sennit_clang -O2 -fPIC -gline-tables-only -c %s -o %t.o -mllvm -sennit-fiber-tls -mllvm -sennit-tls-report=%t && not grep . %t
// RUN: %sennit_clang -O2 -gline-tables-only -c %s -o %t.o -mllvm -sennit-fiber-tls -mllvm -sennit-tls-report=%t && not grep . %t
// RUN: %sennit_clang -O0 -fPIC -gline-tables-only -c %s -o %t.o -mllvm -sennit-tls-report=%t && not grep . %t
// RUN: not %sennit_clang -O2 -c %s -o %t.o -mllvm -sennit-tls-report=%t 2>&1 | FileCheck %s --check-prefix LINES
// LINES: error: -sennit-tls-report tells lines: compile with -g or -gline-tables-only
// LINES-NOT: bug report
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static _Thread_local int counter;
extern _Thread_local int elsewhere;
_Thread_local int table[8];
void yield(void);
void other(void);
void take(int* pointer, pthread_t thread);

// CHECK: tls_report.c:[[@LINE+4]]: variables: the address of counter is from before yield at line [[@LINE+3]]
void variables(void) {
  ++counter;
  yield();
  ++counter;
}

// CHECK: tls_report.c:[[@LINE+6]]: calls: the address of elsewhere is from before yield at line [[@LINE+3]], other at line [[@LINE+5]]{{$}}
void calls(int i) {
  elsewhere = i;
  yield();
  if (i != 0)
    other();
  elsewhere = 1;
}

// Around the loop, in a register or a slot of the stack.
// A program addresses single variables by the thread pointer, which is never old; but this one in two steps.
// CHECK: tls_report.c:[[@LINE+5]]: loop: the address of table is from before yield at line [[@LINE+6]]
// PROGRAM-NOT: {{: (variables|calls|one_way): }}
// PROGRAM: tls_report.c:[[@LINE+3]]: loop: the address of table is from before yield at line [[@LINE+4]]
void loop(int n) {
  for (int i = 0; i < n; ++i) {
    table[i & 7] += i;
    yield();
  }
}

// What libc declares constant, in whatever program.
// CHECK: tls_report.c:[[@LINE+8]]: of_libc: the address of errno is from before take at line [[@LINE+6]], yield at line [[@LINE+7]]
// CHECK: tls_report.c:[[@LINE+8]]: of_libc: pthread_self() is from before take at line [[@LINE+5]], yield at line [[@LINE+6]]
// PROGRAM: tls_report.c:[[@LINE+6]]: of_libc: the address of errno
// PROGRAM: tls_report.c:[[@LINE+6]]: of_libc: pthread_self()
// PROGRAM-NOT: {{: (variables|calls|one_way): }}
void of_libc(void) {
  take(&errno, pthread_self());
  yield();
  errno = 5;
  take(NULL, pthread_self());
}

static __attribute__((noinline)) int only_computes(int i) {
  return i * (int)strlen("some words");
}

// Nobody switches in there.
// CHECK-NOT: harmless
int harmless(int i) {
  ++counter;
  puts("libc does not");
  const int was = only_computes(i);
  return counter + was;
}

// CHECK-NOT: own_pointer
void own_pointer(void) {
  int* mine = &counter;
  yield();
  *mine = 1;
}

// Each way to the second.
// CHECK: tls_report.c:[[@LINE+6]]: one_way: the address of counter is from before yield at line [[@LINE+5]]
// CHECK-NOT: {{.}}
void one_way(int i) {
  ++counter;
  if (i != 0)
    yield();
  counter += i;
}
