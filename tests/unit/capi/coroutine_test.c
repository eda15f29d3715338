/* Coroutines. */
#include "check.h"

static uintptr_t sum(struct sennit_coroutine* self, void* argument, uintptr_t first) {
  uintptr_t total = first;
  uintptr_t more;
  while ((more = sennit_coroutine_yield(self, total)) != 0)
    total += more;
  *(int*)argument = 1;
  return total * 1000;
}

int coroutine_sums(void) {
  struct sennit_coroutine* coroutine = NULL;
  uintptr_t out = 0;
  int ended = 0;
  CHECK(sennit_coroutine_create(&coroutine, sum, &ended, 0) == 0);
  CHECK(!sennit_coroutine_done(coroutine));
  CHECK(sennit_coroutine_resume(coroutine, 1, &out) == 1 && out == 1);
  CHECK(sennit_coroutine_resume(coroutine, 2, &out) == 1 && out == 3);
  CHECK(sennit_coroutine_resume(coroutine, 3, NULL) == 1);
  CHECK(sennit_coroutine_resume(coroutine, 0, &out) == 0 && out == 6000);
  CHECK(ended == 1 && sennit_coroutine_done(coroutine));
  CHECK(sennit_coroutine_destroy(coroutine) == 0);
  return 0;
}

static uintptr_t misuse(struct sennit_coroutine* self, void* argument, uintptr_t first) {
  (void)argument;
  if (sennit_coroutine_resume(self, 0, NULL) != -EINVAL || sennit_coroutine_destroy(self) != -EINVAL)
    return 0;
  return first;
}

static uintptr_t fail(struct sennit_coroutine* self, void* argument, uintptr_t first) {
  (void)self;
  capi_throw_no_space(argument);
  return first;
}

int coroutine_refuses(void) {
  struct sennit_coroutine* coroutine = NULL;
  uintptr_t out = 7;
  CHECK(sennit_coroutine_create(NULL, misuse, NULL, 0) == -EINVAL);
  CHECK(sennit_coroutine_create(&coroutine, NULL, NULL, 0) == -EINVAL);
  CHECK(sennit_coroutine_create(&coroutine, misuse, NULL, 128 * 1024) == 0);
  CHECK(sennit_coroutine_resume(coroutine, 1, &out) == 0 && out == 1);
  CHECK(sennit_coroutine_resume(coroutine, 1, &out) == -EINVAL);
  CHECK(sennit_coroutine_destroy(coroutine) == 0);
  CHECK(sennit_coroutine_create(&coroutine, fail, NULL, 0) == 0);
  out = 7;
  CHECK(sennit_coroutine_resume(coroutine, 1, &out) == -ENOSPC && out == 7);
  CHECK(sennit_coroutine_done(coroutine));
  CHECK(sennit_coroutine_destroy(coroutine) == 0);
  CHECK(sennit_coroutine_create(&coroutine, fail, NULL, 0) == 0);
  CHECK(sennit_coroutine_destroy(coroutine) == 0); /* never began */
  CHECK(sennit_coroutine_destroy(NULL) == 0);
  return 0;
}

static uintptr_t sleep_and_yield(struct sennit_coroutine* self, void* argument, uintptr_t first) {
  (void)argument;
  while (first != 0) {
    EXPECT(sennit_self_sleep(100000) == 0);
    EXPECT(sennit_self_yield() == 0);
    first = sennit_coroutine_yield(self, first + 1);
  }
  return 0;
}

static void resume_in_fiber(void* argument) {
  struct sennit_coroutine* coroutine = NULL;
  uintptr_t out = 0;
  (void)argument;
  EXPECT(sennit_coroutine_create(&coroutine, sleep_and_yield, NULL, 0) == 0);
  EXPECT(sennit_coroutine_resume(coroutine, 1, &out) == 1 && out == 2);
  EXPECT(sennit_coroutine_resume(coroutine, 5, &out) == 1 && out == 6);
  EXPECT(sennit_coroutine_destroy(coroutine) == 0);
}

static void two_at_once(void* argument) {
  struct sennit_fiber* other = NULL;
  EXPECT(sennit_fiber_spawn(&other, resume_in_fiber, argument, NULL) == 0);
  resume_in_fiber(argument);
  EXPECT(sennit_fiber_join(other, SENNIT_NEVER) == 0);
}

int coroutine_in_fiber(void) {
  return capi_run(two_at_once, NULL);
}
