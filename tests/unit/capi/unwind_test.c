/* A runtime's end, and a coroutine's, while C code is suspended. This file is compiled with -fexceptions. */
#include <stdlib.h>

#include "check.h"

struct state {
  struct sennit_mutex* mutex;
  struct sennit_condition* condition;
  struct sennit_channel* channel;
  int cleaned;
  int wrong; /* continued where it must not */
};

static void count_cleanup(struct state** state) {
  ++(*state)->cleaned;
}

#define CLEANED(given) \
  struct state* cleaned __attribute__((cleanup(count_cleanup), unused)) = (struct state*)(given)

static void park(void* argument) {
  CLEANED(argument);
  sennit_self_park();
  ++cleaned->wrong;
}

static void sleep_long(void* argument) {
  CLEANED(argument);
  sennit_self_sleep_until(SENNIT_NEVER);
  ++cleaned->wrong;
}

static void yield_for_ever(void* argument) {
  CLEANED(argument);
  while (sennit_self_yield() == 0) {
  }
  ++cleaned->wrong;
}

static void receive(void* argument) {
  CLEANED(argument);
  char element[100];
  sennit_channel_receive(cleaned->channel, element);
  ++cleaned->wrong;
}

static void lock(void* argument) {
  CLEANED(argument);
  sennit_mutex_lock(cleaned->mutex);
  ++cleaned->wrong;
}

static void never_begins(void* argument) {
  ++((struct state*)argument)->wrong;
}

static void step(struct sennit_runtime* runtime) {
  int i;
  for (i = 0; i < 5; ++i)
    sennit_runtime_run_once(runtime, 0);
}

int unwind_fibers(void) {
  static const sennit_function bodies[] = {park, sleep_long, yield_for_ever, receive, lock};
  struct state state = {NULL, NULL, NULL, 0, 0};
  struct sennit_runtime* runtime = NULL;
  size_t i;
  CHECK(sennit_runtime_create(&runtime, NULL) == 0);
  CHECK(sennit_mutex_create(&state.mutex) == 0);
  CHECK(sennit_mutex_lock(state.mutex) == 0);
  CHECK(sennit_channel_create(&state.channel, 100, 0) == 0);
  for (i = 0; i < sizeof bodies / sizeof *bodies; ++i)
    CHECK(sennit_runtime_spawn(runtime, NULL, bodies[i], &state, NULL) == 0);
  step(runtime);
  CHECK(sennit_runtime_spawn(runtime, NULL, never_begins, &state, NULL) == 0);
  CHECK(sennit_runtime_post(runtime, never_begins, &state) == 0);
  CHECK(state.cleaned == 0);
  CHECK(sennit_runtime_destroy(runtime) == 0);
  CHECK(state.cleaned == 5 && state.wrong == 0);
  CHECK(sennit_mutex_unlock(state.mutex) == 0);
  CHECK(sennit_mutex_destroy(state.mutex) == 0);
  CHECK(sennit_channel_destroy(state.channel) == 0);
  return 0;
}

static void unlock(struct state** state) {
  EXPECT(sennit_mutex_unlock((*state)->mutex) == 0);
  ++(*state)->cleaned;
}

static void wait_with_lock(void* argument) {
  struct state* state = (struct state*)argument;
  EXPECT(sennit_mutex_lock(state->mutex) == 0);
  {
    struct state* held __attribute__((cleanup(unlock), unused)) = state;
    sennit_condition_wait(state->condition, state->mutex);
    ++state->wrong;
  }
}

int unwind_condition(void) {
  struct state state = {NULL, NULL, NULL, 0, 0};
  struct sennit_runtime* runtime = NULL;
  int i;
  capi_failed_line = 0;
  CHECK(sennit_runtime_create(&runtime, NULL) == 0);
  CHECK(sennit_mutex_create(&state.mutex) == 0);
  CHECK(sennit_condition_create(&state.condition) == 0);
  for (i = 0; i < 3; ++i)
    CHECK(sennit_runtime_spawn(runtime, NULL, wait_with_lock, &state, NULL) == 0);
  step(runtime);
  CHECK(sennit_runtime_destroy(runtime) == 0);
  CHECK(state.cleaned == 3 && state.wrong == 0);
  CHECK(sennit_condition_destroy(state.condition) == 0);
  CHECK(sennit_mutex_destroy(state.mutex) == 0);
  return capi_failed_line;
}

static void detach_handle(struct sennit_fiber** fiber) {
  sennit_fiber_detach(*fiber);
}

static void join_parked(void* argument) {
  CLEANED(argument);
  struct sennit_fiber* child __attribute__((cleanup(detach_handle))) = NULL;
  EXPECT(sennit_fiber_spawn(&child, park, argument, NULL) == 0);
  sennit_fiber_join(child, SENNIT_NEVER);
  ++cleaned->wrong;
}

static void join_and_lose_handle(void* argument) {
  CLEANED(argument);
  struct sennit_fiber* child = NULL;
  EXPECT(sennit_fiber_spawn(&child, park, argument, NULL) == 0);
  sennit_fiber_join(child, SENNIT_NEVER);
  ++cleaned->wrong;
}

int unwind_join(void) {
  struct state state = {NULL, NULL, NULL, 0, 0};
  struct sennit_runtime* runtime = NULL;
  capi_failed_line = 0;
  CHECK(sennit_runtime_create(&runtime, NULL) == 0);
  CHECK(sennit_runtime_spawn(runtime, NULL, join_parked, &state, NULL) == 0);
  CHECK(sennit_runtime_spawn(runtime, NULL, join_and_lose_handle, &state, NULL) == 0);
  step(runtime);
  CHECK(sennit_runtime_size(runtime) == 4);
  CHECK(sennit_runtime_destroy(runtime) == 0);
  CHECK(state.cleaned == 4 && state.wrong == 0);
  return capi_failed_line;
}

static uintptr_t yield_words(struct sennit_coroutine* self, void* argument, uintptr_t first) {
  CLEANED(argument);
  while (first != 0)
    first = sennit_coroutine_yield(self, first + 1);
  ++cleaned->wrong;
  return 0;
}

static uintptr_t park_inside(struct sennit_coroutine* self, void* argument, uintptr_t first) {
  (void)self;
  park(argument);
  return first;
}

static void destroy_coroutine(struct sennit_coroutine** coroutine) {
  EXPECT(sennit_coroutine_destroy(*coroutine) == 0);
}

static void resume_it(void* argument) {
  CLEANED(argument);
  struct sennit_coroutine* coroutine __attribute__((cleanup(destroy_coroutine))) = NULL;
  EXPECT(sennit_coroutine_create(&coroutine, park_inside, argument, 0) == 0);
  sennit_coroutine_resume(coroutine, 1, NULL);
  ++cleaned->wrong;
}

int unwind_coroutine(void) {
  struct state state = {NULL, NULL, NULL, 0, 0};
  struct sennit_coroutine* coroutine = NULL;
  struct sennit_runtime* runtime = NULL;
  uintptr_t out = 0;
  capi_failed_line = 0;
  CHECK(sennit_coroutine_create(&coroutine, yield_words, &state, 0) == 0);
  CHECK(sennit_coroutine_resume(coroutine, 5, &out) == 1 && out == 6);
  CHECK(sennit_coroutine_destroy(coroutine) == 0);
  CHECK(state.cleaned == 1 && state.wrong == 0);
  CHECK(sennit_runtime_create(&runtime, NULL) == 0);
  CHECK(sennit_runtime_spawn(runtime, NULL, resume_it, &state, NULL) == 0);
  step(runtime);
  CHECK(sennit_runtime_destroy(runtime) == 0);
  CHECK(state.cleaned == 3 && state.wrong == 0);
  return capi_failed_line;
}

int unwind_without_cleanups(void) {
  struct sennit_runtime* runtime = NULL;
  int cleaned = 0;
  CHECK(sennit_runtime_create(&runtime, NULL) == 0);
  CHECK(sennit_runtime_spawn(runtime, NULL, plain_park, &cleaned, NULL) == 0);
  step(runtime);
  CHECK(sennit_runtime_destroy(runtime) == 0);
  CHECK(cleaned == 0); /* as the header says */
  return 0;
}
