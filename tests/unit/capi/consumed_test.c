/* Waits of C that time out have consumed what docs/explanation/waits.md specifies. */
#include <signal.h>
#include <stdlib.h>

#include "check.h"

static int64_t soon(void) {
  return sennit_now() + 200000;
}

static void lock_in_vain(void* argument) {
  struct sennit_mutex* mutex = NULL;
  (void)argument;
  EXPECT(sennit_mutex_create(&mutex) == 0);
  EXPECT(sennit_mutex_lock(mutex) == 0);
  EXPECT(sennit_mutex_lock_until(mutex, soon()) == -ETIMEDOUT);
  EXPECT(sennit_mutex_unlock(mutex) == 0);
  EXPECT(sennit_mutex_trylock(mutex) == 0); /* it was not locked by the wait */
  EXPECT(sennit_mutex_unlock(mutex) == 0);
  EXPECT(sennit_mutex_destroy(mutex) == 0);
}

struct condition_scene {
  struct sennit_mutex* mutex;
  struct sennit_condition* condition;
  int notified;
};

static void wait_behind(void* argument) {
  struct condition_scene* s = (struct condition_scene*)argument;
  EXPECT(sennit_mutex_lock(s->mutex) == 0);
  EXPECT(sennit_condition_wait(s->condition, s->mutex) == 0);
  s->notified = 1;
  EXPECT(sennit_mutex_unlock(s->mutex) == 0);
}

static void wait_for_notification_in_vain(void* argument) {
  struct condition_scene s = {NULL, NULL, 0};
  struct sennit_fiber* behind = NULL;
  (void)argument;
  EXPECT(sennit_mutex_create(&s.mutex) == 0);
  EXPECT(sennit_condition_create(&s.condition) == 0);
  EXPECT(sennit_fiber_spawn(&behind, wait_behind, &s, NULL) == 0);
  EXPECT(sennit_mutex_lock(s.mutex) == 0);
  EXPECT(sennit_condition_wait_until(s.condition, s.mutex, soon()) == -ETIMEDOUT);
  EXPECT(sennit_mutex_trylock(s.mutex) == -EAGAIN); /* the caller holds it again */
  EXPECT(sennit_mutex_unlock(s.mutex) == 0);
  EXPECT(s.notified == 0);
  EXPECT(sennit_condition_notify_one(s.condition) == 0);
  EXPECT(sennit_fiber_join(behind, SENNIT_NEVER) == 0);
  EXPECT(s.notified == 1);
  EXPECT(sennit_condition_destroy(s.condition) == 0);
  EXPECT(sennit_mutex_destroy(s.mutex) == 0);
}

static void send_and_receive_in_vain(void* argument) {
  struct sennit_channel* channel = NULL;
  size_t capacity;
  int element;
  (void)argument;
  for (capacity = 0; capacity <= 1; ++capacity) {
    element = 7;
    EXPECT(sennit_channel_create(&channel, sizeof element, capacity) == 0);
    EXPECT(sennit_channel_receive_until(channel, &element, soon()) == -ETIMEDOUT);
    EXPECT(element == 7);
    EXPECT(sennit_channel_trysend(channel, &element) == (capacity == 0 ? -EAGAIN : 0));
    element = 8;
    EXPECT(sennit_channel_send_until(channel, &element, soon()) == -ETIMEDOUT);
    if (capacity == 1) {
      EXPECT(sennit_channel_tryreceive(channel, &element) == 0);
      EXPECT(element == 7);
    }
    EXPECT(sennit_channel_tryreceive(channel, &element) == -EAGAIN); /* the 8 was not sent */
    EXPECT(sennit_channel_destroy(channel) == 0);
  }
}

static void park(void* argument) {
  (void)argument;
  EXPECT(sennit_self_park() == 0);
}

static void join_and_park_in_vain(void* argument) {
  struct sennit_fiber* fiber = NULL;
  (void)argument;
  EXPECT(sennit_fiber_spawn(&fiber, park, NULL, NULL) == 0);
  EXPECT(sennit_fiber_join(fiber, soon()) == -ETIMEDOUT);
  EXPECT(sennit_fiber_unpark(fiber) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(sennit_self_park_until(soon()) == -ETIMEDOUT);
  EXPECT(sennit_fiber_unpark(sennit_self()) == 0);
  EXPECT(sennit_self_park_until(SENNIT_NEVER) == 0);
}

static void transfer_in_vain(void* argument) {
  enum { size = 1 << 20 };
  char* const much = (char*)calloc(1, size);
  struct sennit_tcp_stream* ends[2];
  size_t written = 0;
  size_t received = 0;
  ssize_t got;
  (void)argument;
  EXPECT(much != NULL);
  EXPECT(capi_make_pair(ends) == 0);
  EXPECT(sennit_tcp_stream_read(ends[0], much, 1, soon()) == -ETIMEDOUT);
  EXPECT(sennit_tcp_stream_write(ends[1], "x", 1, SENNIT_NEVER) == 1);
  EXPECT(sennit_tcp_stream_read(ends[0], much, 1, SENNIT_NEVER) == 1);
  EXPECT(sennit_tcp_stream_write_all(ends[0], much, size, &written, soon()) == -ETIMEDOUT);
  EXPECT(sennit_tcp_stream_write(ends[0], much, 1, soon()) == -ETIMEDOUT);
  EXPECT(sennit_tcp_stream_shutdown(ends[0]) == 0);
  while ((got = sennit_tcp_stream_read(ends[1], much, size, SENNIT_NEVER)) > 0)
    received += (size_t)got;
  EXPECT(received == written && written > 0);
  sennit_tcp_stream_close(ends[0]);
  sennit_tcp_stream_close(ends[1]);
  free(much);
}

static void accept_in_vain(void* argument) {
  struct sennit_tcp_listener* listener = NULL;
  struct sennit_tcp_stream* client = NULL;
  struct sennit_tcp_stream* server = NULL;
  (void)argument;
  EXPECT(sennit_tcp_listener_listen(&listener, "127.0.0.1", 0, 5) == 0);
  EXPECT(sennit_tcp_listener_accept(listener, &server, soon()) == -ETIMEDOUT);
  EXPECT(sennit_tcp_stream_connect(&client, "127.0.0.1", (uint16_t)sennit_tcp_listener_port(listener),
                                   SENNIT_NEVER) == 0);
  EXPECT(sennit_tcp_listener_accept(listener, &server, SENNIT_NEVER) == 0);
  sennit_tcp_stream_close(client);
  sennit_tcp_stream_close(server);
  sennit_tcp_listener_close(listener);
}

static void wait_for_signal_in_vain(void* argument) {
  const int signals[] = {SIGUSR1};
  struct sennit_signal_set* set = NULL;
  (void)argument;
  EXPECT(sennit_signal_set_create(&set, signals, 1) == 0);
  EXPECT(sennit_signal_set_wait(set, soon()) == -ETIMEDOUT);
  EXPECT(raise(SIGUSR1) == 0);
  EXPECT(sennit_signal_set_wait(set, SENNIT_NEVER) == SIGUSR1);
  sennit_signal_set_destroy(set);
}

int waits_that_time_out_consume_nothing(void) {
  static const sennit_function waits[] = {lock_in_vain,
                                          wait_for_notification_in_vain,
                                          send_and_receive_in_vain,
                                          join_and_park_in_vain,
                                          transfer_in_vain,
                                          accept_in_vain,
                                          wait_for_signal_in_vain};
  size_t i;
  for (i = 0; i < sizeof waits / sizeof *waits; ++i) {
    const int failed = capi_run(waits[i], NULL);
    if (failed != 0)
      return failed;
  }
  return 0;
}
