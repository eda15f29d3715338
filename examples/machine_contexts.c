/* Threads made of machine contexts, in C: a round-robin scheduler of forty lines. Its threads divide the
 * numbers below 100 among themselves, yield after each number, and end. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>

#include "sennit/mctx.h"

enum { threads = 3, stack_size = 64 * 1024 };

struct thread {
  struct sennit_mctx context;
  void* stack;
  int number;
  int sum;
  int ended;
};

static struct thread all[threads];
static struct sennit_mctx scheduler;

static void yield(struct thread* self) {
  sennit_mctx_switch(&self->context, &scheduler);
}

/* A start function must not return: at its end it switches to the scheduler for the last time. */
static void run(void* argument) {
  struct thread* self = argument;
  for (int n = self->number; n < 100; n += threads) {
    self->sum += n;
    yield(self);
  }
  self->ended = 1;
  sennit_mctx_restore(&scheduler);
}

int main(void) {
  int running = threads;
  for (int i = 0; i < threads; ++i) {
    all[i].number = i;
    all[i].stack = malloc(stack_size);
    if (all[i].stack == NULL ||
        sennit_mctx_create(&all[i].context, run, &all[i], all[i].stack, stack_size, 0) != 0) {
      fputs("no memory for stacks\n", stderr);
      return 1;
    }
  }
  for (int i = 0; running != 0; i = (i + 1) % threads) {
    if (all[i].stack == NULL)
      continue;
    sennit_mctx_switch(&scheduler, &all[i].context);
    if (all[i].ended) {
      printf("thread %d: %d\n", i, all[i].sum);
      free(all[i].stack);
      all[i].stack = NULL;
      --running;
    }
  }
  return 0;
}
