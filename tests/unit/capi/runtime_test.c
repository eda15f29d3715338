/* Runtimes, fibers, errors. */
#define _POSIX_C_SOURCE 200809L
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "check.h"

static void count_up(void* argument) {
  ++*(int*)argument;
}

int runtime_lives(void) {
  struct sennit_runtime_options options = {.policy = SENNIT_POLICY_FIFO};
  struct sennit_runtime* runtime = NULL;
  int count = 0;
  CHECK(sennit_runtime_create(&runtime, &options) == 0);
  CHECK(sennit_runtime_size(runtime) == 0);
  CHECK(sennit_runtime_run(runtime, count_up, &count) == 0);
  CHECK(count == 1);
  CHECK(sennit_runtime_spawn(runtime, NULL, count_up, &count, NULL) == 0);
  CHECK(sennit_runtime_size(runtime) == 1);
  CHECK(sennit_runtime_run(runtime, count_up, &count) == 0);
  CHECK(count == 3);
  CHECK(sennit_runtime_destroy(runtime) == 0);
  return 0;
}

static void spawn_to_limit(void* argument) {
  struct sennit_fiber* fibers[4] = {NULL, NULL, NULL, NULL};
  for (int i = 0; i < 3; ++i)
    EXPECT(sennit_fiber_spawn(&fibers[i], count_up, argument, NULL) == 0);
  EXPECT(sennit_fiber_spawn(&fibers[3], count_up, argument, NULL) == -EAGAIN);
  EXPECT(fibers[3] == NULL);
  for (int i = 0; i < 3; ++i)
    EXPECT(sennit_fiber_join(fibers[i], SENNIT_NEVER) == 0);
  EXPECT(sennit_fiber_spawn(&fibers[3], count_up, argument, NULL) == 0);
  EXPECT(sennit_fiber_join(fibers[3], SENNIT_NEVER) == 0);
}

int runtime_has_limits(void) {
  struct sennit_runtime_options options = {.max_fibers = 4};
  struct sennit_runtime* runtime = NULL;
  int count = 0;
  CHECK(sennit_runtime_create(&runtime, &options) == 0);
  CHECK(sennit_runtime_run(runtime, spawn_to_limit, &count) == 0);
  CHECK(sennit_runtime_destroy(runtime) == 0);
  CHECK(count == 4);
  const size_t sizes[] = {(size_t)1 << (8 * sizeof(void*) - 4), (size_t)-1, (size_t)-1 / 2};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    struct sennit_runtime_options stack = {.stack_size = sizes[i]};
    struct sennit_runtime_options guard = {.guard_size = sizes[i]};
    runtime = NULL;
    CHECK(sennit_runtime_create(&runtime, &stack) == -EINVAL);
    CHECK(sennit_runtime_create(&runtime, &guard) == -EINVAL);
    CHECK(runtime == NULL);
  }
  return 0;
}

void yield_with_mutex(void* argument) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  (void)argument;
  pthread_mutex_lock(&mutex);
  EXPECT(sennit_self_yield() == 0);
  pthread_mutex_unlock(&mutex);
  EXPECT(sennit_self_yield() == 0);
}

static void misuse_inside(void* argument) {
  struct sennit_runtime* runtime = (struct sennit_runtime*)argument;
  EXPECT(sennit_runtime_run(runtime, count_up, NULL) == -EINVAL);
  EXPECT(sennit_runtime_run_once(runtime, 0) == -EINVAL);
  EXPECT(sennit_runtime_destroy(runtime) == -EINVAL);
  EXPECT(sennit_fiber_join(sennit_self(), SENNIT_NEVER) == -EINVAL);
}

int runtime_refuses(void) {
  struct sennit_runtime_options options = {.policy = 7};
  struct sennit_runtime* runtime = NULL;
  struct sennit_fiber* fiber = NULL;
  CHECK(sennit_runtime_create(NULL, NULL) == -EINVAL);
  CHECK(sennit_runtime_create(&runtime, &options) == -EINVAL && runtime == NULL);
  CHECK(sennit_runtime_destroy(NULL) == 0);
  CHECK(sennit_runtime_create(&runtime, NULL) == 0);
  CHECK(sennit_runtime_run(runtime, NULL, NULL) == -EINVAL);
  CHECK(sennit_runtime_run(NULL, count_up, NULL) == -EINVAL);
  capi_failed_line = 0;
  CHECK(sennit_runtime_run(runtime, misuse_inside, runtime) == 0);
  CHECK(capi_failed_line == 0);
  CHECK(sennit_fiber_spawn(&fiber, count_up, NULL, NULL) == -EINVAL);
  CHECK(sennit_fiber_join(NULL, SENNIT_NEVER) == -EINVAL);
  CHECK(sennit_self_park() == -EINVAL);
  CHECK(sennit_self_sleep(1) == -EINVAL);
  CHECK(sennit_self_yield() == -EINVAL);
  CHECK(sennit_self() == NULL);
  CHECK(sennit_runtime_destroy(runtime) == 0);
  return 0;
}

static int readable(int descriptor) {
  struct pollfd entry = {descriptor, POLLIN, 0};
  return poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}

static void yield_once(void* argument) {
  ++*(int*)argument;
  sennit_self_yield();
  ++*(int*)argument;
}

int runtime_steps(void) {
  struct sennit_runtime* runtime = NULL;
  struct sennit_fiber* fiber = NULL;
  int count = 0;
  CHECK(sennit_runtime_create(&runtime, NULL) == 0);
  CHECK(sennit_runtime_run_once(runtime, 0) == 0);
  CHECK(!readable(sennit_runtime_descriptor(runtime)));
  CHECK(sennit_runtime_spawn(runtime, &fiber, yield_once, &count, NULL) == 0);
  CHECK(sennit_runtime_run_once(runtime, 0) == 1);
  CHECK(count == 1);
  CHECK(sennit_fiber_join(fiber, 0) == -EINVAL); /* outside of fibers, and it has not ended */
  while (sennit_runtime_run_once(runtime, 0) == 1) {
  }
  CHECK(count == 2);
  CHECK(sennit_fiber_join(fiber, 0) == 0);
  CHECK(sennit_runtime_post(runtime, yield_once, &count) == 0);
  CHECK(readable(sennit_runtime_descriptor(runtime)));
  CHECK(sennit_runtime_destroy(runtime) == 0);
  CHECK(count == 2);
  return 0;
}

struct posting {
  struct sennit_runtime* runtime;
  struct sennit_fiber* waiter;
  int posted;
};

static void wake_waiter(void* argument) {
  struct posting* p = (struct posting*)argument;
  ++p->posted;
  EXPECT(sennit_fiber_unpark(p->waiter) == 0);
}

static void* post_from_thread(void* argument) {
  struct posting* p = (struct posting*)argument;
  sennit_runtime_post(p->runtime, wake_waiter, p);
  return NULL;
}

static void wait_for_post(void* argument) {
  struct posting* p = (struct posting*)argument;
  pthread_t thread;
  p->waiter = sennit_self();
  EXPECT(pthread_create(&thread, NULL, post_from_thread, p) == 0);
  EXPECT(sennit_self_park() == 0);
  EXPECT(p->posted == 1);
  pthread_join(thread, NULL);
}

int runtime_posts(void) {
  struct posting p = {NULL, NULL, 0};
  capi_failed_line = 0;
  CHECK(sennit_runtime_create(&p.runtime, NULL) == 0);
  CHECK(sennit_runtime_run(p.runtime, wait_for_post, &p) == 0);
  CHECK(sennit_runtime_destroy(p.runtime) == 0);
  return capi_failed_line;
}

static void park_briefly(void* argument) {
  (void)argument;
  sennit_self_park();
}

static void join_twice(void* fiber) {
  EXPECT(sennit_fiber_join((struct sennit_fiber*)fiber, SENNIT_NEVER) == -EINVAL);
}

static void join_all(void* argument) {
  struct sennit_fiber_options options = {.name = "a child", .stack_size = 256 * 1024};
  struct sennit_fiber* fiber = NULL;
  struct sennit_fiber* other = NULL;
  int count = 0;
  (void)argument;
  EXPECT(sennit_fiber_spawn(&fiber, count_up, &count, &options) == 0);
  EXPECT(count == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(count == 1);
  EXPECT(sennit_fiber_spawn(&fiber, park_briefly, NULL, NULL) == 0);
  EXPECT(sennit_fiber_join(fiber, sennit_now() + 1000000) == -ETIMEDOUT);
  EXPECT(sennit_fiber_join(fiber, 0) == -ETIMEDOUT);
  EXPECT(sennit_fiber_spawn(&other, join_twice, fiber, NULL) == 0);
  EXPECT(sennit_fiber_unpark(fiber) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  sennit_fiber_detach(other);
  EXPECT(sennit_fiber_spawn(&fiber, capi_throw_no_space, NULL, NULL) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == -ENOSPC);
  EXPECT(sennit_fiber_spawn(NULL, count_up, &count, NULL) == 0);
  EXPECT(sennit_self_yield() == 0);
  EXPECT(count == 2);
  sennit_fiber_detach(NULL);
}

int fibers_join(void) {
  return capi_run(join_all, NULL);
}

enum { rounds = 1000, runners = 5 };

struct race {
  int turn;
  int ended;
};

static void run_in_turn(void* argument) {
  struct race* race = (struct race*)argument;
  int i;
  for (i = 0; i < rounds; ++i) {
    ++race->turn;
    EXPECT(sennit_self_yield() == 0);
  }
  ++race->ended;
}

static void start_race(void* argument) {
  struct race* race = (struct race*)argument;
  int i;
  for (i = 0; i < runners; ++i)
    EXPECT(sennit_fiber_spawn(NULL, run_in_turn, race, NULL) == 0);
  for (i = 0; i < rounds; ++i) {
    sennit_self_yield();
    EXPECT(race->turn == (i + 1) * runners);
  }
  sennit_self_yield();
  EXPECT(race->ended == runners);
}

int fibers_take_turns(void) {
  struct race race = {0, 0};
  return capi_run(start_race, &race);
}

static void spawn_yielders(void* argument) {
  struct sennit_fiber* fibers[runners];
  struct race* race = (struct race*)argument;
  int i;
  for (i = 0; i < runners; ++i)
    EXPECT(sennit_fiber_spawn(&fibers[i], run_in_turn, race, NULL) == 0);
  for (i = 0; i < runners; ++i)
    EXPECT(sennit_fiber_join(fibers[i], SENNIT_NEVER) == 0);
}

int fibers_under_policies(void) {
  int policy;
  for (policy = SENNIT_POLICY_FIFO; policy <= SENNIT_POLICY_HYBRID; ++policy) {
    struct sennit_runtime_options options = {.stack_size = 128 * 1024};
    struct sennit_runtime* runtime = NULL;
    struct race race = {0, 0};
    options.policy = policy;
    capi_failed_line = 0;
    CHECK(sennit_runtime_create(&runtime, &options) == 0);
    CHECK(sennit_runtime_run(runtime, spawn_yielders, &race) == 0);
    CHECK(sennit_runtime_destroy(runtime) == 0);
    CHECK(race.ended == runners && race.turn == runners * rounds);
    CHECK(capi_failed_line == 0);
  }
  return 0;
}

static void park_both_ways(void* argument) {
  (void)argument;
  EXPECT(sennit_fiber_unpark(sennit_self()) == 0);
  EXPECT(sennit_self_park() == 0); /* it happened before */
  EXPECT(sennit_self_park_until(sennit_now() + 1000000) == -ETIMEDOUT);
  EXPECT(sennit_self_park_until(0) == -ETIMEDOUT);
}

int fibers_park(void) {
  return capi_run(park_both_ways, NULL);
}

static void sleep_both_ways(void* argument) {
  const int64_t begin = sennit_now();
  (void)argument;
  EXPECT(sennit_self_sleep(2000000) == 0);
  EXPECT(sennit_now() - begin >= 2000000);
  EXPECT(sennit_self_sleep_until(begin + 4000000) == 0);
  EXPECT(sennit_now() - begin >= 4000000);
  EXPECT(sennit_self_sleep(-1) == 0);
  EXPECT(sennit_self_sleep(INT64_MIN) == 0);
}

int fibers_sleep(void) {
  return capi_run(sleep_both_ways, NULL);
}

static void look_at_names(void* argument) {
  struct sennit_fiber_options options = {.name = "one whose name is longer than 31 bytes"};
  struct sennit_fiber* fiber = NULL;
  (void)argument;
  EXPECT(strcmp(sennit_fiber_name(sennit_self()), "main") == 0);
  EXPECT(sennit_self_set_name("other") == 0);
  EXPECT(strcmp(sennit_fiber_name(sennit_self()), "other") == 0);
  EXPECT(sennit_fiber_spawn(&fiber, park_briefly, NULL, &options) == 0);
  EXPECT(strcmp(sennit_fiber_name(fiber), "one whose name is longer than 3") == 0);
  EXPECT(sennit_fiber_id(fiber) != 0 && sennit_fiber_id(fiber) != sennit_fiber_id(sennit_self()));
  sennit_fiber_unpark(fiber);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
}

int fibers_have_names(void) {
  return capi_run(look_at_names, NULL);
}

int errors_have_texts(void) {
  CHECK(strcmp(sennit_error_text(-ETIMEDOUT), sennit_error_text(ETIMEDOUT)) == 0);
  CHECK(strstr(sennit_error_text(-ETIMEDOUT), "timed out") != NULL);
  CHECK(strcmp(sennit_error_text(SENNIT_LOOKUP_ERROR(EAI_NONAME)), gai_strerror(EAI_NONAME)) == 0);
  CHECK(SENNIT_LOOKUP_ERROR(EAI_NONAME) < -4095);
  CHECK(sennit_error_text(4000) != NULL && sennit_error_text(INT32_MIN) != NULL);
  CHECK(sennit_error_text(INT32_MAX) != NULL && sennit_error_text(0) != NULL);
  CHECK(sennit_now() > 0 && sennit_now() <= sennit_now());
  return 0;
}

/* As code that is compiled with checks does. */
extern __thread unsigned char sennit_yield_requested;
void sennit_forced_yield(void);

static void check(void) {
  if (__atomic_load_n(&sennit_yield_requested, __ATOMIC_RELAXED) != 0)
    sennit_forced_yield();
}

static void stop(void* argument) {
  *(bool volatile*)argument = true;
}

static void gives_way(void* argument) {
  bool volatile stopped = false;
  (void)argument;
  EXPECT(sennit_fiber_spawn(NULL, stop, (void*)&stopped, NULL) == 0);
  sennit_no_yield_begin();
  sennit_no_yield_begin();
  sennit_forced_yield();
  sennit_no_yield_end();
  EXPECT(!stopped);
  sennit_no_yield_end();
  EXPECT(stopped);
  stopped = false;
  EXPECT(sennit_fiber_spawn(NULL, stop, (void*)&stopped, NULL) == 0);
  while (!stopped)
    check();
}

int slices_end(void) {
  struct sennit_runtime_options options = {.time_slice = 1000000};
  struct sennit_runtime* runtime = NULL;
  CHECK(sennit_runtime_create(&runtime, &options) == 0);
  capi_failed_line = 0;
  CHECK(sennit_runtime_run(runtime, gives_way, NULL) == 0);
  CHECK(capi_failed_line == 0);
  CHECK(sennit_runtime_destroy(runtime) == 0);
  options.time_slice = -1;
  CHECK(sennit_runtime_create(&runtime, &options) == -EINVAL);
  sennit_no_yield_begin(); /* no fiber's */
  sennit_no_yield_end();
  return 0;
}
