/* Operations that are inline in C do what the functions do, which are called here by names in parentheses. */
#include "check.h"

struct ends {
  struct sennit_channel* channel;
  uint64_t sum;
};

static void take_all(void* argument) {
  struct ends* s = (struct ends*)argument;
  uint64_t value = 0;
  while (sennit_channel_receive(s->channel, &value) == 0)
    s->sum += value;
}

static void send_seven(void* argument) {
  const uint64_t seven = 7;
  EXPECT(sennit_channel_send((struct sennit_channel*)argument, &seven) == 0);
}

static void go_round_the_buffer(struct sennit_channel* channel) {
  uint64_t next = 0;
  uint64_t value;
  int i;
  for (i = 0; i < 10; ++i) {
    const uint64_t sent[] = {next, next + 1, next + 2};
    EXPECT(sennit_channel_send(channel, &sent[0]) == 0);
    EXPECT((sennit_channel_send)(channel, &sent[1]) == 0);
    EXPECT(i % 2 != 0 || sennit_channel_send(channel, &sent[2]) == 0);
    EXPECT(sennit_channel_size(channel) == (i % 2 == 0 ? 3 : 2));
    EXPECT((sennit_channel_receive)(channel, &value) == 0 && value == next++);
    EXPECT(sennit_channel_receive(channel, &value) == 0 && value == next++);
    EXPECT(i % 2 != 0 || (sennit_channel_receive(channel, &value) == 0 && value == next++));
    EXPECT(sennit_channel_tryreceive(channel, &value) == -EAGAIN);
  }
}

static void use_channels(void* argument) {
  const bool shared = *(bool*)argument;
  const uint64_t values[] = {1, 2, 3};
  struct ends s = {NULL, 0};
  struct sennit_fiber* fiber = NULL;
  uint64_t value = 0;
  EXPECT((shared ? sennit_channel_create_shared : sennit_channel_create)(&s.channel, sizeof value, 3) == 0);
  go_round_the_buffer(s.channel);
  EXPECT(sennit_channel_send(s.channel, NULL) == -EINVAL &&
         sennit_channel_receive(s.channel, NULL) == -EINVAL);
  EXPECT(sennit_channel_send(NULL, &value) == -EINVAL && sennit_channel_receive(NULL, &value) == -EINVAL);

  /* Full, with a sender that waits. */
  EXPECT(sennit_channel_send(s.channel, &values[0]) == 0 && sennit_channel_send(s.channel, &values[1]) == 0 &&
         sennit_channel_send(s.channel, &values[2]) == 0);
  EXPECT(sennit_fiber_spawn(&fiber, send_seven, s.channel, NULL) == 0);
  sennit_self_sleep(1000000);
  EXPECT(sennit_channel_receive(s.channel, &value) == 0 && value == 1);
  EXPECT(sennit_channel_receive(s.channel, &value) == 0 && value == 2);
  EXPECT(sennit_channel_receive(s.channel, &value) == 0 && value == 3);
  EXPECT(sennit_channel_receive(s.channel, &value) == 0 && value == 7);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);

  /* Empty, with a receiver that waits. */
  EXPECT(sennit_fiber_spawn(&fiber, take_all, &s, NULL) == 0);
  sennit_self_sleep(1000000);
  EXPECT(sennit_channel_send(s.channel, &values[2]) == 0);
  sennit_self_sleep(1000000);
  EXPECT(sennit_channel_send(s.channel, &values[1]) == 0 && sennit_channel_send(s.channel, &values[0]) == 0);
  EXPECT(sennit_channel_close(s.channel) == 0);
  EXPECT(sennit_channel_send(s.channel, &values[0]) == -EPIPE);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(s.sum == 6);
  EXPECT(sennit_channel_destroy(s.channel) == 0);

  /* Closed, with an element. */
  EXPECT((shared ? sennit_channel_create_shared : sennit_channel_create)(&s.channel, sizeof value, 3) == 0);
  EXPECT(sennit_channel_send(s.channel, &values[0]) == 0 && sennit_channel_close(s.channel) == 0);
  EXPECT(sennit_channel_send(s.channel, &values[1]) == -EPIPE);
  EXPECT(sennit_channel_receive(s.channel, &value) == 0 && value == 1);
  EXPECT(sennit_channel_receive(s.channel, &value) == -EPIPE);
  EXPECT(sennit_channel_destroy(s.channel) == 0);
}

int inline_channels_are_channels(void) {
  return capi_run_both(use_channels);
}

static void acquire_one(void* semaphore) {
  EXPECT(sennit_semaphore_acquire((struct sennit_semaphore*)semaphore) == 0);
}

static void use_semaphores(void* argument) {
  struct sennit_semaphore* semaphore = NULL;
  struct sennit_fiber* fiber = NULL;
  int i;
  EXPECT((*(bool*)argument ? sennit_semaphore_create_shared : sennit_semaphore_create)(&semaphore, 1) == 0);
  for (i = 0; i < 3; ++i) {
    EXPECT(sennit_semaphore_acquire(semaphore) == 0);
    EXPECT(sennit_semaphore_tryacquire(semaphore) == -EAGAIN);
    EXPECT((sennit_semaphore_release)(semaphore, 2) == 0);
    EXPECT((sennit_semaphore_acquire)(semaphore) == 0);
    EXPECT(sennit_semaphore_acquire(semaphore) == 0);
    /* A waiter gets the permit. */
    EXPECT(sennit_fiber_spawn(&fiber, acquire_one, semaphore, NULL) == 0);
    sennit_self_sleep(1000000);
    EXPECT(*(bool*)argument || sennit_semaphore_destroy(semaphore) == -EBUSY);
    EXPECT(sennit_semaphore_release(semaphore, 1) == 0);
    EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
    EXPECT(sennit_semaphore_tryacquire(semaphore) == -EAGAIN);
    EXPECT(sennit_semaphore_release(semaphore, SIZE_MAX / 8 + 1) == -EINVAL);
    EXPECT(sennit_semaphore_release(semaphore, 0) == 0);
    EXPECT(sennit_semaphore_tryacquire(semaphore) == -EAGAIN);
    EXPECT(sennit_semaphore_release(semaphore, 1) == 0);
  }
  EXPECT(sennit_semaphore_acquire(NULL) == -EINVAL && sennit_semaphore_release(NULL, 1) == -EINVAL);
  EXPECT(sennit_semaphore_destroy(semaphore) == 0);
}

int inline_semaphores_are_semaphores(void) {
  return capi_run_both(use_semaphores);
}

struct local_objects {
  struct sennit_channel* channel;
  struct sennit_semaphore* semaphore;
};

static void be_refused(void* argument) {
  struct local_objects* s = (struct local_objects*)argument;
  uint64_t value = 0;
#if !defined(NDEBUG)
  EXPECT(sennit_channel_send(s->channel, &value) == -EINVAL);
  EXPECT(sennit_channel_receive(s->channel, &value) == -EINVAL);
#endif
  EXPECT(sennit_semaphore_acquire(s->semaphore) == -EINVAL);
  EXPECT(sennit_semaphore_release(s->semaphore, 1) == -EINVAL);
  EXPECT(sennit_self_yield() == 0); /* which changes what the tests above read */
  EXPECT((sennit_channel_send)(s->channel, &value) == -EINVAL);
  EXPECT(sennit_semaphore_acquire(s->semaphore) == -EINVAL);
}

/* With an element, room and a permit, so that only the caller is wrong. */
int inline_operations_refuse(void) {
  struct local_objects s;
  uint64_t value = 1;
  int line;
  CHECK(sennit_channel_create(&s.channel, sizeof value, 3) == 0 &&
        sennit_semaphore_create(&s.semaphore, 2) == 0);
  CHECK(sennit_channel_trysend(s.channel, &value) == 0);
  CHECK((sennit_channel_send)(s.channel, &value) == -EINVAL);
  CHECK((sennit_channel_receive)(s.channel, &value) == -EINVAL);
#if !defined(NDEBUG)
  CHECK(sennit_channel_send(s.channel, &value) == -EINVAL);
  CHECK(sennit_channel_receive(s.channel, &value) == -EINVAL);
#endif
  CHECK(sennit_semaphore_acquire(s.semaphore) == -EINVAL);
  CHECK(sennit_semaphore_release(s.semaphore, 1) == 0);
  line = capi_run_parallel(be_refused, &s);
  CHECK(sennit_channel_size(s.channel) == 1);
  CHECK(sennit_channel_destroy(s.channel) == 0 && sennit_semaphore_destroy(s.semaphore) == 0);
  return line;
}
