/* Waits without a stack for a channel, a mutex, a condition, a semaphore and a fiber's end, in runtimes of
 * both kinds. */
#include <stdatomic.h>
#include <string.h>

#include "check.h"

struct shared_state {
  struct sennit_channel* channel;
  struct sennit_channel* large;
  struct sennit_mutex* mutex;
  struct sennit_condition* condition;
  struct sennit_semaphore* semaphore;
  struct sennit_fiber* joined;
  long count;
  bool ready;
  atomic_int ended;
  int result;
};

struct large {
  long number;
  char rest[292];
};

static void make_all(struct shared_state* all, bool shared) {
  memset(all, 0, sizeof *all);
  if (shared) {
    EXPECT(sennit_channel_create_shared(&all->channel, sizeof(long), 2) == 0);
    EXPECT(sennit_channel_create_shared(&all->large, sizeof(struct large), 0) == 0);
    EXPECT(sennit_mutex_create_shared(&all->mutex) == 0);
    EXPECT(sennit_condition_create_shared(&all->condition) == 0);
    EXPECT(sennit_semaphore_create_shared(&all->semaphore, 0) == 0);
  } else {
    EXPECT(sennit_channel_create(&all->channel, sizeof(long), 2) == 0);
    EXPECT(sennit_channel_create(&all->large, sizeof(struct large), 0) == 0);
    EXPECT(sennit_mutex_create(&all->mutex) == 0);
    EXPECT(sennit_condition_create(&all->condition) == 0);
    EXPECT(sennit_semaphore_create(&all->semaphore, 0) == 0);
  }
}

static void destroy_all(struct shared_state* all) {
  EXPECT(sennit_channel_destroy(all->channel) == 0);
  EXPECT(sennit_channel_destroy(all->large) == 0);
  EXPECT(sennit_mutex_destroy(all->mutex) == 0);
  EXPECT(sennit_condition_destroy(all->condition) == 0);
  EXPECT(sennit_semaphore_destroy(all->semaphore) == 0);
}

static void run_and_join(sennit_function function, struct shared_state* all) {
  struct sennit_fiber* fiber = NULL;
  EXPECT(sennit_fiber_spawn(&fiber, function, all, NULL) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
}

/* ---- Channels. */

static void take_number(void* state, int result, void* value) {
  struct shared_state* all = *(struct shared_state**)state;
  if (result != 0) {
    EXPECT(result == -EPIPE && value == NULL);
    return;
  }
  all->count += *(long*)value;
  EXPECT(sennit_channel_become_receiving(all->channel, take_number, &all, sizeof all, SENNIT_NEVER) == 0);
}

static void take_large(void* state, int result, void* value) {
  char bytes[200];
  struct shared_state* all;
  memcpy(bytes, state, sizeof bytes);
  memcpy(&all, bytes, sizeof all);
  EXPECT(bytes[199] == 7);
  if (result != 0) {
    EXPECT(result == -EPIPE && value == NULL);
    return;
  }
  EXPECT(((uintptr_t)value & 15) == 0 && ((struct large*)value)->rest[291] == 'z');
  all->count += ((struct large*)value)->number;
  EXPECT(sennit_channel_become_receiving(all->large, take_large, bytes, sizeof bytes,
                                         sennit_now() + 60000000000) == 0);
}

static void begin_taking(void* argument) {
  take_number(&argument, 0, &(long){0});
}

static void begin_taking_large(void* argument) {
  char bytes[200];
  memset(bytes, 7, sizeof bytes);
  memcpy(bytes, &argument, sizeof argument);
  EXPECT(sennit_channel_become_receiving(((struct shared_state*)argument)->large, take_large, bytes,
                                         sizeof bytes, SENNIT_NEVER) == 0);
}

static void send_next(void* state, int result, void* value) {
  struct large large;
  struct shared_state* all = *(struct shared_state**)state;
  EXPECT(result == 0 && value == NULL);
  if (all->result++ == 100) {
    EXPECT(sennit_channel_close(all->large) == 0);
    return;
  }
  large.number = 1;
  large.rest[291] = 'z';
  EXPECT(sennit_channel_become_sending(all->large, &large, send_next, &all, sizeof all, SENNIT_NEVER) == 0);
}

static void begin_sending(void* argument) {
  send_next(&argument, 0, NULL);
}

static void note_result(void* state, int result) {
  struct shared_state* all = *(struct shared_state**)state;
  all->result = result;
}

static void note_value(void* state, int result, void* value) {
  struct shared_state* all = *(struct shared_state**)state;
  EXPECT(((uintptr_t)state & 15) == 0);
  all->result = result;
  all->count = value != NULL ? *(long*)value : -1;
}

static void receive_until(void* argument) {
  EXPECT(sennit_channel_become_receiving(((struct shared_state*)argument)->channel, note_value, &argument,
                                         sizeof argument, sennit_now() + 1000000) == 0);
}

static void send_until(void* argument) {
  const long number = 77;
  EXPECT(sennit_channel_become_sending(((struct shared_state*)argument)->channel, &number, note_value,
                                       &argument, sizeof argument, sennit_now() + 1000000) == 0);
}

static void use_channels(void* shared) {
  struct shared_state all;
  struct sennit_fiber* fiber = NULL;
  long number;
  make_all(&all, *(bool*)shared);
  run_and_join(receive_until, &all);
  EXPECT(all.result == -ETIMEDOUT && all.count == -1);
  EXPECT(sennit_channel_trysend(all.channel, &(long){5}) == 0);
  run_and_join(receive_until, &all);
  EXPECT(all.result == 0 && all.count == 5);
  run_and_join(send_until, &all);
  run_and_join(send_until, &all);
  EXPECT(all.result == 0 && all.count == -1);
  run_and_join(send_until, &all);
  EXPECT(all.result == -ETIMEDOUT && all.count == 77);
  EXPECT(sennit_channel_receive(all.channel, &number) == 0 && number == 77);
  EXPECT(sennit_channel_receive(all.channel, &number) == 0 && number == 77);

  all.count = 0;
  EXPECT(sennit_fiber_spawn(&fiber, begin_taking, &all, NULL) == 0);
  for (number = 1; number <= 1000; ++number)
    EXPECT(sennit_channel_send(all.channel, &number) == 0);
  EXPECT(sennit_channel_close(all.channel) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(all.count == 500500);
  run_and_join(send_until, &all);
  EXPECT(all.result == -EPIPE && all.count == 77);

  all.count = all.result = 0;
  EXPECT(sennit_fiber_spawn(&fiber, begin_taking_large, &all, NULL) == 0);
  run_and_join(begin_sending, &all);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(all.count == 100);
  destroy_all(&all);
}

int become_receiving_and_sending(void) {
  return capi_run_both(use_channels);
}

/* ---- A mutex, a semaphore and a condition. */

static void count_locked(void* state, int result) {
  struct shared_state* all = *(struct shared_state**)state;
  EXPECT(result == 0);
  ++all->count;
  EXPECT(sennit_mutex_unlock(all->mutex) == 0);
  if (atomic_fetch_add(&all->ended, 1) < 500)
    EXPECT(sennit_mutex_become_locking(all->mutex, count_locked, &all, sizeof all, SENNIT_NEVER) == 0);
}

static void begin_counting(void* argument) {
  EXPECT(sennit_mutex_become_locking(((struct shared_state*)argument)->mutex, count_locked, &argument,
                                     sizeof argument, SENNIT_NEVER) == 0);
}

static void lock_until(void* argument) {
  EXPECT(sennit_mutex_become_locking(((struct shared_state*)argument)->mutex, note_result, &argument,
                                     sizeof argument, sennit_now() + 1000000) == 0);
}

static void acquire_until(void* argument) {
  EXPECT(sennit_semaphore_become_acquiring(((struct shared_state*)argument)->semaphore, note_result,
                                           &argument, sizeof argument, sennit_now() + 1000000) == 0);
}

static void acquire(void* argument) {
  EXPECT(sennit_semaphore_become_acquiring(((struct shared_state*)argument)->semaphore, note_result,
                                           &argument, sizeof argument, SENNIT_NEVER) == 0);
}

static void wait_ready(void* state, int result) {
  struct shared_state* all = *(struct shared_state**)state;
  EXPECT(result == 0);
  if (!all->ready)
    EXPECT(sennit_condition_become_waiting(all->condition, all->mutex, wait_ready, &all, sizeof all,
                                           SENNIT_NEVER) == 0);
  EXPECT(sennit_mutex_unlock(all->mutex) == 0);
  all->result = 4;
}

static void begin_waiting(void* argument) {
  EXPECT(sennit_mutex_lock(((struct shared_state*)argument)->mutex) == 0);
  wait_ready(&argument, 0);
}

static void note_result_locked(void* state, int result) {
  struct shared_state* all = *(struct shared_state**)state;
  all->result = result;
  EXPECT(sennit_mutex_trylock(all->mutex) == -EAGAIN);
  EXPECT(sennit_mutex_unlock(all->mutex) == 0);
}

static void wait_until(void* argument) {
  struct shared_state* all = argument;
  EXPECT(sennit_mutex_lock(all->mutex) == 0);
  EXPECT(sennit_condition_become_waiting(all->condition, all->mutex, note_result_locked, &argument,
                                         sizeof argument, sennit_now() + 1000000) == 0);
}

static void use_locks(void* shared) {
  struct shared_state all;
  struct sennit_fiber* fibers[3];
  int i;
  make_all(&all, *(bool*)shared);
  for (i = 0; i < 3; ++i)
    EXPECT(sennit_fiber_spawn(&fibers[i], begin_counting, &all, NULL) == 0);
  for (i = 0; i < 3; ++i)
    EXPECT(sennit_fiber_join(fibers[i], SENNIT_NEVER) == 0);
  EXPECT(all.count == 503);
  run_and_join(lock_until, &all);
  EXPECT(all.result == 0 && sennit_mutex_trylock(all.mutex) == -EAGAIN);
  run_and_join(lock_until, &all);
  EXPECT(all.result == -ETIMEDOUT);
  EXPECT(sennit_mutex_unlock(all.mutex) == 0);

  run_and_join(acquire_until, &all);
  EXPECT(all.result == -ETIMEDOUT);
  EXPECT(sennit_semaphore_release(all.semaphore, SIZE_MAX) == -EINVAL);
  EXPECT(sennit_semaphore_release(all.semaphore, 2) == 0);
  run_and_join(acquire, &all);
  EXPECT(all.result == 0);
  run_and_join(acquire_until, &all);
  EXPECT(all.result == 0);

  EXPECT(sennit_fiber_spawn(&fibers[0], begin_waiting, &all, NULL) == 0);
  EXPECT(sennit_fiber_join(fibers[0], sennit_now() + 2000000) == -ETIMEDOUT);
  EXPECT(sennit_mutex_lock(all.mutex) == 0);
  all.ready = true;
  EXPECT(sennit_mutex_unlock(all.mutex) == 0);
  EXPECT(sennit_condition_notify_all(all.condition) == 0);
  EXPECT(sennit_fiber_join(fibers[0], SENNIT_NEVER) == 0);
  EXPECT(all.result == 4);
  run_and_join(wait_until, &all);
  EXPECT(all.result == -ETIMEDOUT);
  destroy_all(&all);
}

int become_locking_and_waiting(void) {
  return capi_run_both(use_locks);
}

/* ---- A fiber's end. */

static void note_joined(void* state, int result) {
  struct shared_state* all = *(struct shared_state**)state;
  all->result = result;
}

static void join_it(void* argument) {
  EXPECT(sennit_fiber_become_joining(((struct shared_state*)argument)->joined, note_joined, &argument,
                                     sizeof argument, SENNIT_NEVER) == 0);
}

static void join_it_until(void* argument) {
  EXPECT(sennit_fiber_become_joining(((struct shared_state*)argument)->joined, note_joined, &argument,
                                     sizeof argument, sennit_now() + 1000000) == 0);
}

static void join_it_in_time(void* argument) {
  EXPECT(sennit_fiber_become_joining(((struct shared_state*)argument)->joined, note_joined, &argument,
                                     sizeof argument, sennit_now() + 10000000000) == 0);
}

static void park(void* argument) {
  (void)argument;
  EXPECT(sennit_self_park() == 0);
}

static void use_joins(void* shared) {
  struct shared_state all;
  make_all(&all, *(bool*)shared);
  EXPECT(sennit_fiber_spawn(&all.joined, park, NULL, NULL) == 0);
  run_and_join(join_it_until, &all);
  EXPECT(all.result == -ETIMEDOUT);
  EXPECT(sennit_fiber_unpark(all.joined) == 0);
  run_and_join(join_it, &all);
  EXPECT(all.result == 0);
  EXPECT(sennit_fiber_spawn(&all.joined, capi_throw_no_space, NULL, NULL) == 0);
  run_and_join(join_it_in_time, &all);
  EXPECT(all.result == -ENOSPC);
  EXPECT(sennit_fiber_spawn(&all.joined, capi_throw_no_space, NULL, NULL) == 0);
  run_and_join(join_it, &all);
  EXPECT(all.result == -ENOSPC);
  EXPECT(sennit_fiber_become_joining(sennit_self(), note_joined, NULL, 0, SENNIT_NEVER) == -EINVAL);
  destroy_all(&all);
}

int become_joining(void) {
  return capi_run_both(use_joins);
}

/* ---- Misuse: nothing has happened. */

static void refuse(void* shared) {
  struct shared_state all;
  struct sennit_fiber* fiber = NULL;
  char large[2049] = "";
  make_all(&all, *(bool*)shared);
  EXPECT(sennit_channel_become_receiving(NULL, note_value, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_channel_become_receiving(all.channel, NULL, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_channel_become_receiving(all.channel, note_value, NULL, 1, 0) == -EINVAL);
  EXPECT(sennit_channel_become_receiving(all.channel, note_value, large, sizeof large, 0) == -EINVAL);
  EXPECT(sennit_channel_become_sending(all.channel, NULL, note_value, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_channel_become_sending(all.channel, large, NULL, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_channel_size(all.channel) == 0);
  EXPECT(sennit_mutex_become_locking(NULL, note_result, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_mutex_become_locking(all.mutex, NULL, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_semaphore_become_acquiring(NULL, note_result, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_semaphore_become_acquiring(all.semaphore, NULL, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_condition_become_waiting(NULL, all.mutex, note_result, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_condition_become_waiting(all.condition, NULL, note_result, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_condition_become_waiting(all.condition, all.mutex, note_result, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_mutex_lock(all.mutex) == 0);
  EXPECT(sennit_condition_become_waiting(all.condition, all.mutex, NULL, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_condition_become_waiting(all.condition, all.mutex, note_result, large, sizeof large, 1) ==
         -EINVAL);
  EXPECT(sennit_mutex_unlock(all.mutex) == 0);
  EXPECT(sennit_fiber_spawn(&fiber, park, NULL, NULL) == 0);
  EXPECT(sennit_fiber_become_joining(NULL, note_result, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_fiber_become_joining(fiber, NULL, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_fiber_become_joining(fiber, note_result, NULL, 1, SENNIT_NEVER) == -EINVAL);
  EXPECT(sennit_fiber_unpark(fiber) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  destroy_all(&all);
}

static void refuse_other_kind(void* shared) {
  struct shared_state all;
  make_all(&all, !*(bool*)shared);
  EXPECT(sennit_channel_become_receiving(all.channel, note_value, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_channel_become_sending(all.channel, &all, note_value, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_mutex_become_locking(all.mutex, note_result, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_semaphore_become_acquiring(all.semaphore, note_result, NULL, 0, 0) == -EINVAL);
  destroy_all(&all);
}

int become_by_sync_refuses(void) {
  struct shared_state all;
  make_all(&all, true);
  CHECK(sennit_channel_become_receiving(all.channel, note_value, NULL, 0, 0) == -EINVAL);
  CHECK(sennit_mutex_become_locking(all.mutex, note_result, NULL, 0, 0) == -EINVAL);
  destroy_all(&all);
  CHECK(capi_run_both(refuse) == 0);
  return capi_run_both(refuse_other_kind);
}
