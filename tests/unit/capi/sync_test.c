/* Mutexes, conditions, channels. */
#include <stdio.h>
#include <string.h>

#include "check.h"

struct shared {
  struct sennit_mutex* mutex;
  struct sennit_condition* condition;
  struct sennit_channel* channel;
  int inside;
  int count;
};

static void enter_and_leave(void* argument) {
  struct shared* s = (struct shared*)argument;
  int i;
  for (i = 0; i < 100; ++i) {
    EXPECT(sennit_mutex_lock(s->mutex) == 0);
    EXPECT(s->inside++ == 0);
    sennit_self_yield();
    --s->inside;
    ++s->count;
    EXPECT(sennit_mutex_unlock(s->mutex) == 0);
  }
}

static void exclude(void* argument) {
  struct shared* s = (struct shared*)argument;
  struct sennit_fiber* fibers[3];
  int i;
  EXPECT(sennit_mutex_create(&s->mutex) == 0);
  for (i = 0; i < 3; ++i)
    EXPECT(sennit_fiber_spawn(&fibers[i], enter_and_leave, s, NULL) == 0);
  for (i = 0; i < 3; ++i)
    EXPECT(sennit_fiber_join(fibers[i], SENNIT_NEVER) == 0);
  EXPECT(s->count == 300);
  EXPECT(sennit_mutex_destroy(s->mutex) == 0);
}

int mutex_excludes(void) {
  struct shared s = {NULL, NULL, NULL, 0, 0};
  return capi_run(exclude, &s);
}

static void lock_and_unlock(void* argument) {
  struct shared* s = (struct shared*)argument;
  EXPECT(sennit_mutex_lock(s->mutex) == 0);
  EXPECT(sennit_mutex_unlock(s->mutex) == 0);
}

static void refuse(void* argument) {
  struct shared* s = (struct shared*)argument;
  struct sennit_fiber* fiber = NULL;
  EXPECT(sennit_mutex_unlock(s->mutex) == -EINVAL);
  EXPECT(sennit_mutex_trylock(s->mutex) == 0);
  EXPECT(sennit_mutex_trylock(s->mutex) == -EAGAIN);
  EXPECT(sennit_mutex_destroy(s->mutex) == -EBUSY);
  EXPECT(sennit_mutex_lock_until(s->mutex, sennit_now() + 1000000) == -ETIMEDOUT);
  EXPECT(sennit_fiber_spawn(&fiber, lock_and_unlock, s, NULL) == 0);
  sennit_self_yield();
  EXPECT(sennit_mutex_unlock(s->mutex) == 0); /* handed over to one that has not run yet */
  EXPECT(sennit_mutex_destroy(s->mutex) == -EBUSY);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
}

int mutex_refuses(void) {
  struct shared s = {NULL, NULL, NULL, 0, 0};
  int failed;
  CHECK(sennit_mutex_create(NULL) == -EINVAL);
  CHECK(sennit_mutex_create(&s.mutex) == 0);
  CHECK(sennit_mutex_lock(s.mutex) == 0); /* free: needs no fiber */
  CHECK(sennit_mutex_lock(s.mutex) == -EINVAL);
  CHECK(sennit_mutex_unlock(s.mutex) == 0);
  CHECK(sennit_mutex_unlock(NULL) == -EINVAL);
  failed = capi_run(refuse, &s);
  CHECK(sennit_mutex_destroy(s.mutex) == 0);
  CHECK(sennit_mutex_destroy(NULL) == 0);
  return failed;
}

static void wait_for_count(void* argument) {
  struct shared* s = (struct shared*)argument;
  EXPECT(sennit_mutex_lock(s->mutex) == 0);
  while (s->count == 0)
    EXPECT(sennit_condition_wait(s->condition, s->mutex) == 0);
  ++s->inside;
  EXPECT(sennit_mutex_unlock(s->mutex) == 0);
}

static void wake(void* argument) {
  struct shared* s = (struct shared*)argument;
  struct sennit_fiber* fibers[3];
  int i;
  EXPECT(sennit_mutex_create(&s->mutex) == 0);
  EXPECT(sennit_condition_create(&s->condition) == 0);
  for (i = 0; i < 3; ++i)
    EXPECT(sennit_fiber_spawn(&fibers[i], wait_for_count, s, NULL) == 0);
  sennit_self_yield();
  EXPECT(sennit_condition_destroy(s->condition) == -EBUSY);
  EXPECT(sennit_mutex_destroy(s->mutex) == -EBUSY);
  EXPECT(sennit_mutex_lock(s->mutex) == 0);
  s->count = 1;
  EXPECT(sennit_mutex_unlock(s->mutex) == 0);
  EXPECT(sennit_condition_notify_one(s->condition) == 0);
  EXPECT(sennit_fiber_join(fibers[0], SENNIT_NEVER) == 0);
  EXPECT(s->inside == 1);
  EXPECT(sennit_condition_notify_all(s->condition) == 0);
  EXPECT(sennit_condition_destroy(s->condition) == -EBUSY); /* they have not run yet */
  for (i = 1; i < 3; ++i)
    EXPECT(sennit_fiber_join(fibers[i], SENNIT_NEVER) == 0);
  EXPECT(s->inside == 3);
  EXPECT(sennit_condition_destroy(s->condition) == 0);
  EXPECT(sennit_mutex_destroy(s->mutex) == 0);
}

int condition_wakes(void) {
  struct shared s = {NULL, NULL, NULL, 0, 0};
  return capi_run(wake, &s);
}

static void time_out(void* argument) {
  struct shared* s = (struct shared*)argument;
  EXPECT(sennit_mutex_create(&s->mutex) == 0);
  EXPECT(sennit_condition_create(&s->condition) == 0);
  EXPECT(sennit_condition_wait(s->condition, s->mutex) == -EINVAL); /* not locked */
  EXPECT(sennit_mutex_lock(s->mutex) == 0);
  EXPECT(sennit_condition_wait_until(s->condition, s->mutex, sennit_now() + 1000000) == -ETIMEDOUT);
  EXPECT(sennit_mutex_unlock(s->mutex) == 0);
  EXPECT(sennit_condition_destroy(s->condition) == 0);
  EXPECT(sennit_mutex_destroy(s->mutex) == 0);
}

int condition_times_out(void) {
  struct shared s = {NULL, NULL, NULL, 0, 0};
  return capi_run(time_out, &s);
}

/* Elements of each kind: less than a word, a word, more. */
struct large {
  int number;
  char text[60];
};

static const size_t sizes[] = {1, 3, sizeof(uintptr_t), sizeof(struct large)};

static void fill(struct large* element, int number, size_t size) {
  memset(element, 'a' + number % 26, sizeof *element);
  if (size >= sizeof *element) {
    element->number = number;
    snprintf(element->text, sizeof element->text, "number %d", number);
  }
}

static void send_some(void* argument) {
  struct shared* s = (struct shared*)argument;
  struct large element;
  int i;
  for (i = 0; i < 100; ++i) {
    fill(&element, i, sizes[s->inside]);
    EXPECT(sennit_channel_send(s->channel, &element) == 0);
  }
  EXPECT(sennit_channel_close(s->channel) == 0);
  EXPECT(sennit_channel_send(s->channel, &element) == -EPIPE);
}

static void receive_all(void* argument) {
  struct shared* s = (struct shared*)argument;
  struct large wanted;
  struct large got;
  int result;
  s->count = 0;
  for (;;) {
    memset(&got, 0, sizeof got);
    result = sennit_channel_receive(s->channel, &got);
    if (result != 0)
      break;
    fill(&wanted, s->count++, sizes[s->inside]);
    EXPECT(memcmp(&wanted, &got, sizes[s->inside]) == 0);
    if (sizes[s->inside] < sizeof got)
      EXPECT(((char*)&got)[sizes[s->inside]] == 0); /* nothing beyond the element was written */
  }
  EXPECT(result == -EPIPE);
  EXPECT(s->count == 100);
}

static void exchange(struct shared* s, size_t capacity) {
  struct sennit_fiber* sender = NULL;
  for (s->inside = 0; s->inside < 4; ++s->inside) {
    EXPECT(sennit_channel_create(&s->channel, sizes[s->inside], capacity) == 0);
    EXPECT(sennit_fiber_spawn(&sender, send_some, s, NULL) == 0);
    receive_all(s);
    EXPECT(sennit_fiber_join(sender, SENNIT_NEVER) == 0);
    EXPECT(sennit_channel_destroy(s->channel) == 0);
  }
}

static void rendezvous(void* argument) {
  exchange((struct shared*)argument, 0);
}

int channel_rendezvous(void) {
  struct shared s = {NULL, NULL, NULL, 0, 0};
  return capi_run(rendezvous, &s);
}

static void buffered(void* argument) {
  exchange((struct shared*)argument, 7);
}

int channel_buffers(void) {
  struct shared s = {NULL, NULL, NULL, 0, 0};
  return capi_run(buffered, &s);
}

static void expect_closed(void* argument) {
  struct shared* s = (struct shared*)argument;
  struct large element;
  EXPECT(sennit_channel_receive(s->channel, &element) == -EPIPE);
  ++s->count;
}

static void close_it(void* argument) {
  struct shared* s = (struct shared*)argument;
  struct sennit_fiber* fiber = NULL;
  struct large element;
  EXPECT(sennit_channel_create(&s->channel, sizeof element, 1) == 0);
  EXPECT(sennit_fiber_spawn(&fiber, expect_closed, s, NULL) == 0);
  sennit_self_yield();
  EXPECT(sennit_channel_destroy(s->channel) == -EBUSY);
  EXPECT(sennit_channel_close(s->channel) == 0);
  EXPECT(sennit_channel_close(s->channel) == 0);
  EXPECT(sennit_channel_destroy(s->channel) == -EBUSY);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(s->count == 1);
  EXPECT(sennit_channel_trysend(s->channel, &element) == -EPIPE);
  EXPECT(sennit_channel_tryreceive(s->channel, &element) == -EPIPE);
  EXPECT(sennit_channel_destroy(s->channel) == 0);
}

int channel_closes(void) {
  struct shared s = {NULL, NULL, NULL, 0, 0};
  return capi_run(close_it, &s);
}

static void try_it(void* argument) {
  struct shared* s = (struct shared*)argument;
  struct large element;
  struct large got;
  fill(&element, 3, sizeof element);
  EXPECT(sennit_channel_create(&s->channel, sizeof element, 1) == 0);
  EXPECT(sennit_channel_tryreceive(s->channel, &got) == -EAGAIN);
  EXPECT(sennit_channel_receive_until(s->channel, &got, sennit_now() + 1000000) == -ETIMEDOUT);
  EXPECT(sennit_channel_trysend(s->channel, &element) == 0);
  EXPECT(sennit_channel_size(s->channel) == 1);
  EXPECT(sennit_channel_trysend(s->channel, &element) == -EAGAIN);
  EXPECT(sennit_channel_send_until(s->channel, &element, sennit_now() + 1000000) == -ETIMEDOUT);
  EXPECT(sennit_channel_tryreceive(s->channel, &got) == 0);
  EXPECT(memcmp(&got, &element, sizeof got) == 0);
  EXPECT(sennit_channel_trysend(s->channel, &element) == 0);
  EXPECT(sennit_channel_destroy(s->channel) == 0); /* with an element in it */
}

int channel_refuses(void) {
  struct shared s = {NULL, NULL, NULL, 0, 0};
  CHECK(sennit_channel_create(&s.channel, 0, 1) == -EINVAL);
  CHECK(sennit_channel_create(NULL, 1, 1) == -EINVAL);
  CHECK(sennit_channel_send(NULL, &s) == -EINVAL);
  CHECK(sennit_channel_destroy(NULL) == 0);
  return capi_run(try_it, &s);
}
