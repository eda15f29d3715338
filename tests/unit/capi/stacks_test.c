/* Stacks: small ones, the caller's, and how deep they have been. */
#include <stdalign.h>
#include <string.h>

#include "check.h"

static alignas(16) unsigned char memory[32 * 1024];

/* AddressSanitizer would have the frame elsewhere. */
__attribute__((no_sanitize_address)) static void use_some(void* argument) {
  volatile char frame[3000];
  memset((char*)frame, 1, sizeof frame);
  EXPECT(sennit_stack_high_water() >= sizeof frame);
  *(int*)argument += frame[17];
  *(int*)argument +=
      frame >= (volatile char*)memory && frame < (volatile char*)memory + sizeof memory ? 10 : 0;
}

static void run_on_all_kinds(void* argument) {
  struct sennit_fiber* fiber = NULL;
  struct sennit_fiber_options options = {.name = "kinds", .stack_size = sizeof memory, .stack = memory};
  int ran = 0;
  (void)argument;
  sennit_stacks_measure(true);
  EXPECT(sennit_fiber_spawn(&fiber, use_some, &ran, &options) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(ran == 11);
  memset(memory, 0xff, sizeof memory); /* ours again */
  options.stack = NULL;
  EXPECT(sennit_fiber_spawn(&fiber, use_some, &ran, &options) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(ran == 12);
  sennit_stacks_measure(false);
}

static const struct sennit_stack_usage* find(const struct sennit_stack_usage* all, ssize_t count) {
  for (ssize_t i = 0; i < count; ++i)
    if (strcmp(all[i].name, "kinds") == 0)
      return &all[i];
  return NULL;
}

int stacks_are_measured(void) {
  struct sennit_stack_usage all[64];
  const struct sennit_stack_usage* kinds;
  CHECK(capi_run(run_on_all_kinds, NULL) == 0);
  CHECK(sennit_stack_usages(NULL, 1) == -EINVAL);
  const ssize_t count = sennit_stack_usages(all, 64);
  CHECK(count > 0 && count <= 64 && sennit_stack_usages(NULL, 0) == count);
  CHECK((kinds = find(all, count)) != NULL);
  CHECK(strcmp(kinds->kind, "fiber") == 0 && kinds->count == 2 && kinds->size == sizeof memory);
  CHECK(kinds->high_water >= 3000 && kinds->high_water < sizeof memory);
  CHECK(kinds->enough > kinds->high_water);
  CHECK(sennit_stack_high_water() == 0);
  return 0;
}

static void use_large(void* argument) {
  volatile char frame[100 * 1024];
  memset((char*)frame, 1, sizeof frame);
  *(int*)argument += frame[sizeof frame - 1];
  if (sennit_self() != NULL)
    EXPECT(sennit_self_sleep(1000) == 0);
}

static void call_large(void* argument) {
  EXPECT(sennit_on_large_stack(use_large, argument) == 0);
  EXPECT(sennit_on_large_stack(NULL, argument) == -EINVAL);
}

static void spawn_call_large(void* argument) {
  struct sennit_fiber_options options = {.stack_size = 16 * 1024, .guard_size = 16 * 1024};
  struct sennit_fiber* fiber = NULL;
  EXPECT(sennit_fiber_spawn(&fiber, call_large, argument, &options) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  options.guard_size = (size_t)1 << 60;
  EXPECT(sennit_fiber_spawn(&fiber, call_large, argument, &options) == -EINVAL);
}

int calls_run_on_large_stacks(void) {
  int calls = 0;
  struct sennit_runtime_options options = {.guard_size = (size_t)1 << 60};
  struct sennit_runtime* runtime = NULL;
  CHECK(capi_run(spawn_call_large, &calls) == 0);
  call_large(&calls);
  CHECK(calls == 2);
  CHECK(sennit_runtime_create(&runtime, &options) == -EINVAL);
  options.guard_size = 4096;
  options.stack_size = (size_t)1 << 60;
  CHECK(sennit_runtime_create(&runtime, &options) == -EINVAL);
  return 0;
}

static uintptr_t tell_place(struct sennit_coroutine* self, void* argument, uintptr_t first) {
  (void)self;
  (void)argument;
  (void)first;
  return (uintptr_t)__builtin_frame_address(0);
}

/* Two stacks that lie side by side: 4 KiB each, and a guard of 64 KiB. */
int stacks_may_be_small(void) {
  struct sennit_coroutine* both[2] = {NULL, NULL};
  uintptr_t places[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    CHECK(sennit_coroutine_create(&both[i], tell_place, NULL, SENNIT_SMALL_STACK(4096)) == 0);
    CHECK(sennit_coroutine_resume(both[i], 0, &places[i]) == 0);
  }
  CHECK(places[0] != places[1]);
  CHECK((places[0] < places[1] ? places[1] - places[0] : places[0] - places[1]) < 80 * 1024);
  CHECK(sennit_coroutine_destroy(both[0]) == 0 && sennit_coroutine_destroy(both[1]) == 0);
  return 0;
}
