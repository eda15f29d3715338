/* Thread-local variables read and written between calls, and in a loop without any. */
#include <errno.h>

#include "measure.h"

static _Thread_local long own;
static _Thread_local long table[8];
extern _Thread_local long elsewhere;

NOINLINE static void call(void) {
  __asm__ volatile("" ::: "memory");
}

NOINLINE static long one(long n) {
  for (long i = 0; i < n; ++i) {
    own += i;
    call();
  }
  return own;
}

NOINLINE static long three(long n) {
  for (long i = 0; i < n; ++i) {
    own += i;
    table[i & 7] += own;
    elsewhere += own;
    call();
  }
  return own + elsewhere;
}

NOINLINE static long no_call(long n) {
  for (long i = 0; i < n; ++i)
    table[i & 7] += i;
  return table[0];
}

NOINLINE static long of_errno(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    sum += errno;
    call();
  }
  return sum;
}

int main(void) {
  measure("a variable and a call", one);
  measure("three variables, one of another unit, and a call", three);
  measure("a table in a loop without a call", no_call);
  measure("errno and a call", of_errno);
}
