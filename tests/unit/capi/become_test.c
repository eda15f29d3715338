/* Blocking without a stack, in C. This file is compiled with -fexceptions. */
#include <string.h>

#include "check.h"

struct loop {
  long left;
  int64_t deadline;
  long* done;
  struct sennit_fiber** self;
};

static void go_round(void* state);

/* With a frame that would not fit the stack often. */
static __attribute__((noinline)) void block_deep(const struct loop* loop, int depth) {
  volatile char frame[100];
  frame[0] = (char)depth;
  if (depth > 0)
    block_deep(loop, depth - 1);
  else
    EXPECT(sennit_become(go_round, loop, sizeof *loop, loop->deadline) == 0); /* not come back */
  frame[1] = frame[0];
  EXPECT(frame[1] != frame[0]);
}

static void go_round(void* state) {
  struct loop loop;
  memcpy(&loop, state, sizeof loop);
  if (loop.left-- == 0)
    ++*loop.done;
  else
    block_deep(&loop, 5);
}

static void yield_beside(void* done) {
  while (*(volatile long*)done == 0)
    EXPECT(sennit_self_yield() == 0);
}

#if defined(NDEBUG)
#define LOOPS 1000000
#else
#define LOOPS 20000 /* to look at the frames takes longer than all else */
#endif

static void loop_by_yields(void* argument) {
  long done = 0;
  struct loop loop = {LOOPS, 0, &done, NULL};
  struct sennit_fiber* fiber = NULL;
  (void)argument;
  EXPECT(sennit_fiber_spawn(&fiber, go_round, &loop, NULL) == 0);
  yield_beside(&done);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(done == 1);
}

int become_loops(void) {
  return capi_run(loop_by_yields, NULL);
}

static void wait_for_unpark(void* argument) {
  long done = 0;
  int i;
  struct loop loop = {3, SENNIT_NEVER, &done, NULL};
  struct sennit_fiber* fiber = NULL;
  (void)argument;
  EXPECT(sennit_fiber_spawn(&fiber, go_round, &loop, NULL) == 0);
  for (i = 0; i < 3; ++i) {
    EXPECT(sennit_fiber_join(fiber, sennit_now() + 1000000) == -ETIMEDOUT);
    EXPECT(done == 0);
    EXPECT(sennit_fiber_unpark(fiber) == 0);
  }
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(done == 1);
  loop.left = 1;
  loop.deadline = sennit_now() + 2000000;
  EXPECT(sennit_fiber_spawn(&fiber, go_round, &loop, NULL) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(done == 2 && sennit_now() >= loop.deadline);
}

int become_waits(void) {
  return capi_run(wait_for_unpark, NULL);
}

static void look_at_large(void* state) {
  const char* bytes = (const char*)state;
  EXPECT(((uintptr_t)state & 15) == 0);
  EXPECT(bytes[0] == 'a' && bytes[2047] == 'z');
  EXPECT(sennit_become(NULL, NULL, 0, 0) == -EINVAL);
}

static void become_large(void* argument) {
  char large[2049];
  (void)argument;
  memset(large, 0, sizeof large);
  large[0] = 'a';
  large[2047] = 'z';
  EXPECT(sennit_become(look_at_large, NULL, 1, 0) == -EINVAL);
  EXPECT(sennit_become(look_at_large, large, 2049, 0) == -EINVAL);
  EXPECT(sennit_become(look_at_large, large, 2048, 0) == 0);
}

static void nothing(void* state) {
  EXPECT(state == NULL);
}

static void become_small(void* argument) {
  (void)argument;
  EXPECT(sennit_become(nothing, NULL, 0, 0) == 0);
}

int become_takes_states(void) {
  CHECK(sennit_become(nothing, NULL, 0, 0) == -EINVAL);
  CHECK(capi_run(become_small, NULL) == 0);
  return capi_run(become_large, NULL);
}

struct count {
  int cleaned;
  int yields;
};

static void count_cleanup(struct count** count) {
  ++(*count)->cleaned;
}

static __attribute__((noinline)) void yield_with_cleanup(struct count* count) {
  struct count* cleaned __attribute__((cleanup(count_cleanup), unused)) = count;
  sennit_self_yield();
  EXPECT(count->yields == 3);
}

static void yield_again(void* state) {
  struct count* count = *(struct count**)state;
  EXPECT(count->cleaned == ++count->yields);
  if (count->yields == 3)
    EXPECT(sennit_self_clear_yield_continuation() == 0);
  yield_with_cleanup(count);
}

static void set_and_yield(void* argument) {
  EXPECT(sennit_self_set_yield_continuation(yield_again, &argument, sizeof argument) == 0);
  yield_with_cleanup((struct count*)argument);
}

int yields_go_on_elsewhere(void) {
  struct count count = {0, 0};
  CHECK(sennit_self_set_yield_continuation(nothing, NULL, 0) == -EINVAL);
  CHECK(sennit_self_clear_yield_continuation() == -EINVAL);
  CHECK(capi_run(set_and_yield, &count) == 0);
  CHECK(count.cleaned == 4 && count.yields == 3);
  return 0;
}

void capi_note_line(const int* line) {
  capi_failed_line = *line;
}

void become_with_cleanup(void* argument) {
  const int line __attribute__((cleanup(capi_note_line), unused)) = __LINE__;
  (void)argument;
  sennit_become(nothing, NULL, 0, 0);
}

static uintptr_t become_inside(struct sennit_coroutine* self, void* argument, uintptr_t first) {
  (void)self, (void)argument;
  sennit_become(nothing, NULL, 0, 0);
  return first;
}

void become_in_coroutine(void* argument) {
  struct sennit_coroutine* coroutine = NULL;
  (void)argument;
  EXPECT(sennit_coroutine_create(&coroutine, become_inside, NULL, 0) == 0);
  sennit_coroutine_resume(coroutine, 0, NULL);
}
