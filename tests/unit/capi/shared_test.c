/* Runtimes with workers, objects of both kinds, and their waits without a stack. Each function runs in a
 * local runtime, in a parallel one, and in a parallel one whose fibers migrate at each switch. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "check.h"

static bool is_shared(void* argument) {
  return *(const bool*)argument;
}

int capi_run_both(sennit_function function) {
  bool shared = false;
  int line = capi_run(function, &shared);
  shared = true;
  return line != 0 ? line : capi_run_parallel(function, &shared);
}

static struct sennit_channel* make_channel(bool shared, size_t size, size_t capacity) {
  struct sennit_channel* made = NULL;
  EXPECT((shared ? sennit_channel_create_shared(&made, size, capacity)
                 : sennit_channel_create(&made, size, capacity)) == 0);
  return made;
}

static struct sennit_mutex* make_mutex(bool shared) {
  struct sennit_mutex* made = NULL;
  EXPECT((shared ? sennit_mutex_create_shared(&made) : sennit_mutex_create(&made)) == 0);
  return made;
}

static struct sennit_condition* make_condition(bool shared) {
  struct sennit_condition* made = NULL;
  EXPECT((shared ? sennit_condition_create_shared(&made) : sennit_condition_create(&made)) == 0);
  return made;
}

static struct sennit_semaphore* make_semaphore(bool shared, size_t permits) {
  struct sennit_semaphore* made = NULL;
  EXPECT((shared ? sennit_semaphore_create_shared(&made, permits)
                 : sennit_semaphore_create(&made, permits)) == 0);
  return made;
}

/* ---- Runtimes and fibers. */

static void set_flag(void* flag) {
  atomic_store((atomic_int*)flag, 1);
}

static void set_value(void* value) {
  *(int*)value = 1;
}

static void yield_and_sleep(void* argument) {
  int i;
  (void)argument;
  for (i = 0; i < 10; ++i)
    EXPECT(sennit_self_yield() == 0);
  EXPECT(sennit_self_sleep(1000000) == 0);
  EXPECT(sennit_self_park_until(sennit_now() + 1000000) == -ETIMEDOUT);
  EXPECT(sennit_self_set_name("sleeper") == 0);
  EXPECT(strcmp(sennit_fiber_name(sennit_self()), "sleeper") == 0);
}

static void park_once(void* parked) {
  atomic_store((atomic_int*)parked, 1);
  EXPECT(sennit_self_park() == 0);
}

static void spawn_and_join(void* argument) {
  enum { count = 50 };
  struct sennit_fiber* fibers[count];
  struct sennit_fiber* one = NULL;
  atomic_int parked = 0;
  int i;
  (void)argument;
  for (i = 0; i < count; ++i)
    EXPECT(sennit_fiber_spawn(&fibers[i], yield_and_sleep, NULL, NULL) == 0);
  for (i = 0; i < count; ++i)
    EXPECT(sennit_fiber_join(fibers[i], SENNIT_NEVER) == 0);
  EXPECT(sennit_fiber_spawn(&one, park_once, &parked, NULL) == 0);
  while (atomic_load(&parked) == 0)
    sennit_self_yield();
  EXPECT(sennit_fiber_join(one, sennit_now() + 1000000) == -ETIMEDOUT);
  EXPECT(sennit_fiber_unpark(one) == 0);
  EXPECT(sennit_fiber_join(one, SENNIT_NEVER) == 0);
  EXPECT(sennit_fiber_join(sennit_self(), SENNIT_NEVER) == -EINVAL);
  atomic_store(&parked, 0);
  EXPECT(sennit_fiber_spawn(&one, set_flag, &parked, NULL) == 0);
  sennit_fiber_detach(one);
  while (atomic_load(&parked) == 0)
    sennit_self_yield();
}

int fibers_of_both_kinds(void) {
  return capi_run_both(spawn_and_join);
}

static void nothing(void* argument) {
  (void)argument;
}

int parallel_runtime_lives(void) {
  struct sennit_runtime_options options = {.workers = 2};
  struct sennit_fiber_options pinned = {.worker = 2};
  struct sennit_runtime* runtime = NULL;
  struct sennit_fiber* fiber = NULL;
  atomic_int posted = 0;
  int value = 0;
  CHECK(sennit_runtime_create(&runtime, &options) == 0);
  CHECK(sennit_runtime_workers(runtime) == 2);
  CHECK(sennit_runtime_workers(NULL) == -EINVAL);
  CHECK(sennit_runtime_run_once(runtime, 0) == -EINVAL);
  CHECK(sennit_runtime_descriptor(runtime) == -EINVAL);
  CHECK(sennit_runtime_run(runtime, set_value, &value) == 0);
  CHECK(value == 1);
  value = 0;
  CHECK(sennit_runtime_spawn(runtime, &fiber, set_value, &value, &pinned) == 0);
  CHECK(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  CHECK(value == 1);
  CHECK(sennit_runtime_spawn(runtime, &fiber, yield_and_sleep, NULL, NULL) == 0);
  CHECK(sennit_fiber_join(fiber, sennit_now() + 1) == -ETIMEDOUT);
  CHECK(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  pinned.worker = 3;
  CHECK(sennit_runtime_spawn(runtime, &fiber, nothing, NULL, &pinned) == -EINVAL);
  CHECK(sennit_runtime_post(runtime, set_flag, &posted) == 0);
  while (atomic_load(&posted) == 0)
    sched_yield();
  CHECK(sennit_runtime_size(runtime) >= 0);
  CHECK(sennit_runtime_destroy(runtime) == 0);
  options.workers = 65;
  CHECK(sennit_runtime_create(&runtime, &options) == -EINVAL);
  options.workers = SENNIT_ALL_CPUS;
  CHECK(sennit_runtime_create(&runtime, &options) == 0);
  CHECK(sennit_runtime_workers(runtime) >= 1);
  CHECK(sennit_runtime_destroy(runtime) == 0);
  options.workers = 0;
  options.report_stuck_after = 1;
  CHECK(sennit_runtime_create(&runtime, &options) == -EINVAL);
  return 0;
}

/* ---- Mutexes, conditions and semaphores. */

enum { rounds = 2000, workers = 4 };

struct counter {
  struct sennit_mutex* mutex;
  struct sennit_condition* condition;
  struct sennit_semaphore* semaphore;
  int count;
  int ended;
};

static void count_under_mutex(void* argument) {
  struct counter* counter = argument;
  int i;
  for (i = 0; i < rounds; ++i) {
    EXPECT(sennit_mutex_lock(counter->mutex) == 0);
    ++counter->count;
    if (i % 16 == 0)
      sennit_self_yield();
    EXPECT(sennit_mutex_unlock(counter->mutex) == 0);
  }
  EXPECT(sennit_mutex_lock(counter->mutex) == 0);
  ++counter->ended;
  EXPECT(sennit_condition_notify_one(counter->condition) == 0);
  EXPECT(sennit_mutex_unlock(counter->mutex) == 0);
  EXPECT(sennit_semaphore_release(counter->semaphore, 1) == 0);
}

static void use_locks(void* argument) {
  const bool shared = is_shared(argument);
  struct counter counter = {make_mutex(shared), make_condition(shared), make_semaphore(shared, 0), 0, 0};
  struct sennit_fiber* fibers[workers];
  int i;
  for (i = 0; i < workers; ++i)
    EXPECT(sennit_fiber_spawn(&fibers[i], count_under_mutex, &counter, NULL) == 0);
  EXPECT(sennit_mutex_lock(counter.mutex) == 0);
  EXPECT(sennit_mutex_trylock(counter.mutex) == -EAGAIN);
  EXPECT(sennit_mutex_lock_until(counter.mutex, 0) == -ETIMEDOUT);
  EXPECT(sennit_mutex_destroy(counter.mutex) == -EBUSY);
  while (counter.ended != workers)
    EXPECT(sennit_condition_wait(counter.condition, counter.mutex) == 0);
  EXPECT(sennit_condition_wait_until(counter.condition, counter.mutex, 0) == -ETIMEDOUT);
  EXPECT(counter.count == rounds * workers);
  EXPECT(sennit_mutex_unlock(counter.mutex) == 0);
  EXPECT(sennit_mutex_unlock(counter.mutex) == -EINVAL);
  for (i = 0; i < workers; ++i)
    EXPECT(sennit_semaphore_acquire(counter.semaphore) == 0);
  EXPECT(sennit_semaphore_tryacquire(counter.semaphore) == -EAGAIN);
  EXPECT(sennit_semaphore_acquire_until(counter.semaphore, 0) == -ETIMEDOUT);
  EXPECT(sennit_semaphore_release(counter.semaphore, 1) == 0);
  EXPECT(sennit_semaphore_tryacquire(counter.semaphore) == 0);
  for (i = 0; i < workers; ++i)
    EXPECT(sennit_fiber_join(fibers[i], SENNIT_NEVER) == 0);
  EXPECT(sennit_mutex_destroy(counter.mutex) == 0);
  EXPECT(sennit_condition_destroy(counter.condition) == 0);
  EXPECT(sennit_semaphore_destroy(counter.semaphore) == 0);
}

int locks_of_both_kinds(void) {
  return capi_run_both(use_locks);
}

/* ---- Channels. */

struct big {
  long number;
  char rest[92];
};

struct flow {
  struct sennit_channel* channel;
  size_t size;
  atomic_long sum;
};

static void send_numbers(void* argument) {
  struct flow* flow = argument;
  struct big element = {0, ""};
  for (element.number = 1; element.number <= rounds; ++element.number)
    EXPECT(sennit_channel_send(flow->channel, &element) == 0);
}

static void receive_numbers(void* argument) {
  struct flow* flow = argument;
  struct big element = {0, ""};
  int result;
  while ((result = sennit_channel_receive(flow->channel, &element)) == 0)
    atomic_fetch_add(&flow->sum, element.number);
  EXPECT(result == -EPIPE);
}

static void join_all(struct sennit_fiber** fibers, int count) {
  int i;
  for (i = 0; i < count; ++i)
    EXPECT(sennit_fiber_join(fibers[i], SENNIT_NEVER) == 0);
}

static void flow_through(bool shared, size_t size, size_t capacity) {
  struct flow flow = {make_channel(shared, size, capacity), size, 0};
  struct sennit_fiber* senders[2];
  struct sennit_fiber* receivers[2];
  int i;
  for (i = 0; i < 2; ++i) {
    EXPECT(sennit_fiber_spawn(&senders[i], send_numbers, &flow, NULL) == 0);
    EXPECT(sennit_fiber_spawn(&receivers[i], receive_numbers, &flow, NULL) == 0);
  }
  join_all(senders, 2);
  EXPECT(sennit_channel_close(flow.channel) == 0);
  join_all(receivers, 2);
  EXPECT(atomic_load(&flow.sum) == 2L * rounds * (rounds + 1) / 2);
  EXPECT(sennit_channel_trysend(flow.channel, &flow) == -EPIPE);
  EXPECT(sennit_channel_destroy(flow.channel) == 0);
}

static void use_channels(void* argument) {
  const bool shared = is_shared(argument);
  struct sennit_channel* channel = make_channel(shared, sizeof(int), 1);
  int value = 3;
  flow_through(shared, sizeof(long), 0);
  flow_through(shared, sizeof(long), 5);
  flow_through(shared, sizeof(struct big), 0);
  flow_through(shared, sizeof(struct big), 5);
  EXPECT(sennit_channel_tryreceive(channel, &value) == -EAGAIN);
  EXPECT(sennit_channel_receive_until(channel, &value, 0) == -ETIMEDOUT);
  EXPECT(sennit_channel_trysend(channel, &value) == 0);
  EXPECT(sennit_channel_trysend(channel, &value) == -EAGAIN);
  EXPECT(sennit_channel_send_until(channel, &value, sennit_now() + 1000000) == -ETIMEDOUT);
  EXPECT(sennit_channel_size(channel) == 1);
  EXPECT(sennit_channel_close(channel) == 0);
  EXPECT(sennit_channel_send(channel, &value) == -EPIPE);
  EXPECT(sennit_channel_tryreceive(channel, &value) == 0 && value == 3);
  EXPECT(sennit_channel_tryreceive(channel, &value) == -EPIPE);
  EXPECT(sennit_channel_destroy(channel) == 0);
}

int channels_of_both_kinds(void) {
  return capi_run_both(use_channels);
}

static void* send_from_thread(void* flow) {
  send_numbers(flow);
  return NULL;
}

static void receive_from_thread(void* argument) {
  struct flow flow = {make_channel(true, sizeof(long), 2), sizeof(long), 0};
  struct sennit_fiber* receiver = NULL;
  pthread_t thread;
  (void)argument;
  EXPECT(sennit_fiber_spawn(&receiver, receive_numbers, &flow, NULL) == 0);
  EXPECT(pthread_create(&thread, NULL, send_from_thread, &flow) == 0);
  while (atomic_load(&flow.sum) != rounds * (rounds + 1L) / 2)
    sennit_self_yield();
  EXPECT(pthread_join(thread, NULL) == 0);
  EXPECT(sennit_channel_close(flow.channel) == 0);
  EXPECT(sennit_fiber_join(receiver, SENNIT_NEVER) == 0);
  EXPECT(sennit_channel_destroy(flow.channel) == 0);
}

int threads_use_shared_channels(void) {
  return capi_run_parallel(receive_from_thread, NULL);
}

/* ---- Misuse. */

static void use_local_objects(void* argument) {
  struct sennit_channel* channel = make_channel(false, sizeof(long), 1);
  struct sennit_mutex* mutex = make_mutex(false);
  struct sennit_mutex* shared = make_mutex(true);
  struct sennit_condition* condition = make_condition(false);
  struct sennit_semaphore* semaphore = make_semaphore(false, 1);
  long value = 0;
  (void)argument;
  /* By functions: the inline forms check the caller only in code that is compiled with assertions. */
  EXPECT((sennit_channel_send)(channel, &value) == -EINVAL);
  EXPECT(sennit_channel_receive(channel, &value) == -EINVAL);
  EXPECT(sennit_channel_trysend(channel, &value) == -EINVAL);
  EXPECT(sennit_channel_tryreceive(channel, &value) == -EINVAL);
  EXPECT(sennit_channel_close(channel) == -EINVAL);
  EXPECT(sennit_mutex_lock(mutex) == -EINVAL);
  EXPECT(sennit_mutex_trylock(mutex) == -EINVAL);
  EXPECT(sennit_mutex_unlock(mutex) == -EINVAL);
  EXPECT(sennit_mutex_lock(shared) == 0);
  EXPECT(sennit_condition_wait(condition, shared) == -EINVAL);
  EXPECT(sennit_mutex_unlock(shared) == 0);
  EXPECT((sennit_condition_notify_one)(condition) == -EINVAL);
  EXPECT(sennit_condition_notify_all(condition) == -EINVAL);
  EXPECT(sennit_semaphore_acquire(semaphore) == -EINVAL);
  EXPECT(sennit_semaphore_tryacquire(semaphore) == -EINVAL);
  EXPECT(sennit_semaphore_release(semaphore, 1) == -EINVAL);
  EXPECT(sennit_channel_destroy(channel) == 0 && sennit_mutex_destroy(mutex) == 0);
  EXPECT(sennit_mutex_destroy(shared) == 0 && sennit_condition_destroy(condition) == 0);
  EXPECT(sennit_semaphore_destroy(semaphore) == 0);
}

int local_objects_refuse_parallel_fibers(void) {
  return capi_run_parallel(use_local_objects, NULL);
}
