// The resolvers of ifuncs and of target_clones run before a static executable has thread-local storage: they
// have no checks, nor do the functions that they call, and libc's locks are called by their own names there.
// RUN: %stock_clang -O1 -c %inputs/trash.c -o %t.trash.o
// RUN: %sennit_clang -O0 -fPIE -mllvm -sennit-polls %s %t.trash.o -static-pie -o %t.O0 && %t.O0 | FileCheck %s --check-prefix PRINTS
// RUN: %sennit_clang -O2 -mllvm -sennit-polls %s %t.trash.o -static -o %t && %t | FileCheck %s --check-prefix PRINTS
// RUN: llvm-objdump -d --no-show-raw-insn %t --disassemble-symbols=resolve,count.early,shared.early | FileCheck %s --check-prefix EARLY
// RUN: llvm-objdump -d --no-show-raw-insn %t --disassemble-symbols=shared | FileCheck %s --check-prefix LATER
// At a link, in functions of another unit as well.
// RUN: %sennit_clang -O2 -flto -mllvm -sennit-polls -DOTHER -c %s -o %t.other.o
// RUN: %sennit_clang -O2 -flto -mllvm -sennit-polls -DSPLIT -c %s -o %t.split.o
// RUN: %link -flto %t.split.o %t.other.o %t.trash.o -static -o %t.lto && %t.lto | FileCheck %s --check-prefix PRINTS
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

int shared(const char* list);

// LATER: <shared>:
// LATER: cmpb $0x0, %fs:
#ifndef SPLIT
__attribute__((noinline)) int shared(const char* list) {
  int n = 0;
  for (; *list; ++list) {
    n += *list == ',';
    __asm__ volatile("" : "+r"(list));
  }
  return n;
}
#endif

#ifndef OTHER
static pthread_spinlock_t lock;
static int counted;
static void count(void) {
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  pthread_spin_lock(&lock);
  counted = shared("ab,cd,avx2,ef");
  pthread_spin_unlock(&lock);
}

static __attribute__((noinline)) void call(void (*function)(void)) {
  function();
}

static int plain(void) {
  return 1;
}
static int fast(void) {
  return 2;
}

// EARLY-NOT: cmpb $0x0, %fs:
// EARLY-NOT: sennit_
// EARLY: <resolve>:
// EARLY-NOT: cmpb $0x0, %fs:
// EARLY-NOT: sennit_
static void* resolve(void) {
  call(count);
  return counted > 2 ? (void*)fast : (void*)plain;
}
int chosen(void) __attribute__((ifunc("resolve")));

__attribute__((target_clones("avx2", "default"))) long sum(const int* values, int n) {
  long all = 0;
  for (int i = 0; i < n; ++i)
    all += values[i] * i;
  return all;
}

int main(void) {
  int values[100];
  for (int i = 0; i < 100; ++i)
    values[i] = i;
  // PRINTS: 2 3 328350
  printf("%d %d %ld\n", chosen(), shared("a,b,c,d"), sum(values, 100));
}
#endif
