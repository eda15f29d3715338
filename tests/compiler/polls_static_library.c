// A static executable with a library that has assertions: resolvers run before there is thread-local storage,
// and the library's functions for pthread locks find those of libc.
// RUN: %sennit_clang -O2 -mllvm -sennit-polls %s -static %library -lm -o %t && %t | FileCheck %s
// RUN: %sennit_clang -O0 -fPIE -mllvm -sennit-polls %s -static-pie %library -lm -o %t.pie && %t.pie | FileCheck %s
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

#include "sennit/sennit.h"

static int first(void) {
  return 1;
}
static int second(void) {
  return 2;
}
static void* resolve(void) {
  int n = 0;
  for (const char* list = "ab,cd,ef"; *list; ++list) {
    n += *list == ',';
    __asm__ volatile("" : "+r"(list));
  }
  return n == 2 ? (void*)second : (void*)first;
}
int chosen(void) __attribute__((ifunc("resolve")));

static void run(void* sum) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  int locked = pthread_mutex_lock(&mutex) == 0 && pthread_mutex_trylock(&mutex) != 0;
  locked += pthread_rwlock_wrlock(&lock) == 0;
  locked += pthread_rwlock_unlock(&lock) == 0;
  locked += pthread_rwlock_rdlock(&lock) == 0;
  locked += pthread_rwlock_unlock(&lock) == 0;
  locked += pthread_mutex_unlock(&mutex) == 0;
  *(int*)sum = locked;
}

int main(void) {
  struct sennit_runtime* runtime = NULL;
  int sum = 0;
  sennit_runtime_create(&runtime, NULL);
  sennit_runtime_run(runtime, run, &sum);
  sennit_runtime_destroy(runtime);
  // CHECK: 2 6
  printf("%d %d\n", chosen(), sum);
}
