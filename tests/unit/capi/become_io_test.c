/* Waiting for file descriptors without a stack, in C. This file is compiled with -fexceptions. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

/* What a fiber and its test share; fibers get a pointer to it as their state. */
struct shared {
  struct sennit_tcp_stream* stream;
  struct sennit_tcp_listener* listener;
  struct sennit_readiness* readiness;
  int64_t deadline;
  int calls;
  char byte; /* read last */
};

static struct shared* shared_of(void* state) {
  EXPECT(((uintptr_t)state & 15) == 0);
  return *(struct shared**)state;
}

/* How many stacks fibers of that name have. */
static size_t stacks_of(const char* name) {
  static struct sennit_stack_usage all[64];
  const ssize_t count = sennit_stack_usages(all, 64);
  ssize_t i;
  EXPECT(count >= 0 && count <= 64);
  for (i = 0; i < count; ++i)
    if (strcmp(all[i].name, name) == 0)
      return all[i].count;
  return 0;
}

static void read_and_wait_again(void* state) {
  struct shared* shared = shared_of(state);
  const ssize_t size = sennit_tcp_stream_read(shared->stream, &shared->byte, 1, 0);
  EXPECT(size >= 0);
  ++shared->calls;
  if (size == 0)
    sennit_tcp_stream_close(shared->stream);
  else
    EXPECT(sennit_tcp_stream_become_reading(shared->stream, read_and_wait_again, &shared, sizeof shared,
                                            SENNIT_NEVER) == 0); /* not come back */
}

static void begin_reading(void* argument) {
  struct shared* shared = (struct shared*)argument;
  EXPECT(sennit_tcp_stream_become_reading(shared->stream, read_and_wait_again, &shared, sizeof shared,
                                          SENNIT_NEVER) == 0);
}

static void read_with_stack(void* argument) {
  struct shared* shared = (struct shared*)argument;
  EXPECT(sennit_tcp_stream_read(shared->stream, &shared->byte, 1, SENNIT_NEVER) == 1);
  sennit_tcp_stream_close(shared->stream);
}

#define READERS 40

static void hold_no_stack(void* argument) {
  const struct sennit_fiber_options quiet = {.name = "quiet"};
  const struct sennit_fiber_options loud = {.name = "loud"};
  struct shared readers[READERS];
  struct sennit_tcp_stream* peers[READERS];
  struct sennit_fiber* fibers[READERS];
  int i;
  int round;
  (void)argument;
  memset(readers, 0, sizeof readers);
  for (i = 0; i < READERS; ++i) {
    struct sennit_tcp_stream* ends[2];
    EXPECT(capi_make_pair(ends) == 0);
    readers[i].stream = ends[0];
    peers[i] = ends[1];
    EXPECT(sennit_fiber_spawn(&fibers[i], i == 0 ? read_with_stack : begin_reading, &readers[i],
                              i == 0 ? &loud : &quiet) == 0);
  }
  for (round = 1; round <= 3; ++round) {
    EXPECT(sennit_self_sleep(1000000) == 0);
    EXPECT(stacks_of("quiet") == 0);
    EXPECT(stacks_of("loud") == 1);
    for (i = 1; i < READERS; ++i)
      EXPECT(sennit_tcp_stream_write(peers[i], &"abc"[round - 1], 1, SENNIT_NEVER) == 1);
    for (i = 1; i < READERS; ++i)
      while (readers[i].calls < round)
        EXPECT(sennit_self_yield() == 0);
    for (i = 1; i < READERS; ++i)
      EXPECT(readers[i].calls == round && readers[i].byte == "abc"[round - 1]);
  }
  EXPECT(sennit_tcp_stream_write(peers[0], "x", 1, SENNIT_NEVER) == 1);
  for (i = 0; i < READERS; ++i) {
    sennit_tcp_stream_close(peers[i]); /* the readers' end */
    EXPECT(sennit_fiber_join(fibers[i], SENNIT_NEVER) == 0);
  }
}

int become_reading_holds_no_stack(void) {
  return capi_run(hold_no_stack, NULL);
}

static void note_timeout(void* state) {
  struct shared* shared = shared_of(state);
  EXPECT(sennit_now() >= shared->deadline);
  EXPECT(sennit_tcp_stream_read(shared->stream, &shared->byte, 1, 0) == -ETIMEDOUT);
  ++shared->calls;
}

static void begin_in_vain(void* argument) {
  struct shared* shared = (struct shared*)argument;
  EXPECT(sennit_tcp_stream_become_reading(shared->stream, note_timeout, &shared, sizeof shared,
                                          shared->deadline) == 0);
}

static void read_before_deadline(void* argument) {
  struct shared* shared = (struct shared*)argument;
  EXPECT(sennit_tcp_stream_become_reading(shared->stream, read_and_wait_again, &shared, sizeof shared,
                                          sennit_now() + 60000000000) == 0);
}

static void wait_until_deadline(void* argument) {
  struct shared shared = {.deadline = sennit_now() + 2000000};
  struct sennit_tcp_stream* ends[2];
  struct sennit_fiber* fiber = NULL;
  (void)argument;
  EXPECT(capi_make_pair(ends) == 0);
  shared.stream = ends[0];
  EXPECT(sennit_fiber_spawn(&fiber, begin_in_vain, &shared, NULL) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  shared.deadline = 0; /* has always passed */
  EXPECT(sennit_fiber_spawn(&fiber, begin_in_vain, &shared, NULL) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(shared.calls == 2);
  EXPECT(sennit_fiber_spawn(&fiber, read_before_deadline, &shared, NULL) == 0);
  EXPECT(sennit_self_sleep(1000000) == 0);
  EXPECT(sennit_tcp_stream_write(ends[1], "x", 1, SENNIT_NEVER) == 1);
  sennit_tcp_stream_close(ends[1]);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(shared.calls == 4 && shared.byte == 'x');
}

int become_reading_times_out(void) {
  return capi_run(wait_until_deadline, NULL);
}

/* It must not look at the stream. */
static void note_call(void* state) {
  ++shared_of(state)->calls;
}

static void begin_until_closed(void* argument) {
  struct shared* shared = (struct shared*)argument;
  EXPECT(sennit_tcp_stream_become_reading(shared->stream, note_call, &shared, sizeof shared,
                                          shared->deadline) == 0);
}

static void begin_accepting_until_closed(void* argument) {
  struct shared* shared = (struct shared*)argument;
  EXPECT(sennit_tcp_listener_become_accepting(shared->listener, note_call, &shared, sizeof shared,
                                              shared->deadline) == 0);
}

static void close_while_waited_for(void* argument) {
  const int64_t deadlines[] = {SENNIT_NEVER, sennit_now() + 60000000000};
  struct shared shared = {.calls = 0};
  int i;
  (void)argument;
  for (i = 0; i < 2; ++i) {
    struct sennit_tcp_stream* ends[2];
    struct sennit_fiber* reader = NULL;
    struct sennit_fiber* acceptor = NULL;
    EXPECT(capi_make_pair(ends) == 0);
    EXPECT(sennit_tcp_listener_listen(&shared.listener, "127.0.0.1", 0, 0) == 0);
    shared.stream = ends[0];
    shared.deadline = deadlines[i];
    EXPECT(sennit_fiber_spawn(&reader, begin_until_closed, &shared, NULL) == 0);
    EXPECT(sennit_fiber_spawn(&acceptor, begin_accepting_until_closed, &shared, NULL) == 0);
    EXPECT(sennit_self_sleep(1000000) == 0);
    EXPECT(shared.calls == 2 * i);
    sennit_tcp_stream_close(ends[0]);
    sennit_tcp_listener_close(shared.listener);
    EXPECT(sennit_fiber_join(reader, SENNIT_NEVER) == 0);
    EXPECT(sennit_fiber_join(acceptor, SENNIT_NEVER) == 0);
    EXPECT(shared.calls == 2 * i + 2);
    sennit_tcp_stream_close(ends[1]);
  }
}

int become_reading_until_closed(void) {
  return capi_run(close_while_waited_for, NULL);
}

/* Where its runtime ends, a fiber that has no stack just ends. */
int become_reading_until_the_end(void) {
  const int64_t deadlines[] = {SENNIT_NEVER, sennit_now() + 60000000000};
  int i;
  capi_failed_line = 0;
  for (i = 0; i < 2; ++i) {
    struct shared shared = {.deadline = deadlines[i]};
    struct sennit_tcp_stream* ends[2];
    struct sennit_runtime* runtime = NULL;
    int step;
    CHECK(capi_make_pair(ends) == 0);
    shared.stream = ends[0];
    CHECK(sennit_runtime_create(&runtime, NULL) == 0);
    CHECK(sennit_runtime_spawn(runtime, NULL, begin_until_closed, &shared, NULL) == 0);
    for (step = 0; step < 5; ++step)
      CHECK(sennit_runtime_run_once(runtime, 0) >= 0);
    CHECK(sennit_runtime_size(runtime) == 1);
    CHECK(sennit_runtime_destroy(runtime) == 0);
    CHECK(shared.calls == 0);
    sennit_tcp_stream_close(ends[0]);
    sennit_tcp_stream_close(ends[1]);
  }
  return capi_failed_line;
}

static void write_the_rest(void* state) {
  struct shared* shared = shared_of(state);
  ++shared->calls;
  EXPECT(sennit_tcp_stream_write(shared->stream, "z", 1, 0) == 1);
  sennit_tcp_stream_close(shared->stream);
}

static void fill_and_wait(void* argument) {
  static const char much[1 << 20];
  struct shared* shared = (struct shared*)argument;
  EXPECT(sennit_tcp_stream_write_all(shared->stream, much, sizeof much, NULL, 0) == -ETIMEDOUT);
  EXPECT(sennit_tcp_stream_become_writing(shared->stream, write_the_rest, &shared, sizeof shared,
                                          SENNIT_NEVER) == 0);
}

static void write_when_there_is_room(void* argument) {
  struct shared shared = {.calls = 0};
  struct sennit_tcp_stream* ends[2];
  struct sennit_fiber* fiber = NULL;
  char bytes[4096];
  char last = 0;
  ssize_t size;
  (void)argument;
  EXPECT(capi_make_pair(ends) == 0);
  shared.stream = ends[0];
  EXPECT(sennit_fiber_spawn(&fiber, fill_and_wait, &shared, NULL) == 0);
  EXPECT(sennit_self_sleep(1000000) == 0);
  EXPECT(shared.calls == 0);
  while ((size = sennit_tcp_stream_read(ends[1], bytes, sizeof bytes, SENNIT_NEVER)) > 0)
    last = bytes[size - 1];
  EXPECT(size == 0 && last == 'z' && shared.calls == 1);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  sennit_tcp_stream_close(ends[1]);
}

int become_writing_waits(void) {
  return capi_run(write_when_there_is_room, NULL);
}

static void accept_one_at_once(void* state) {
  struct shared* shared = shared_of(state);
  EXPECT(sennit_tcp_listener_accept(shared->listener, &shared->stream, 0) == 0);
  ++shared->calls;
}

static void begin_accepting(void* argument) {
  struct shared* shared = (struct shared*)argument;
  EXPECT(sennit_tcp_listener_become_accepting(shared->listener, accept_one_at_once, &shared, sizeof shared,
                                              shared->deadline) == 0);
}

static void accept_two(void* argument) {
  const int64_t deadlines[] = {SENNIT_NEVER, sennit_now() + 60000000000};
  struct shared shared = {.calls = 0};
  int i;
  (void)argument;
  EXPECT(sennit_tcp_listener_listen(&shared.listener, "127.0.0.1", 0, 0) == 0);
  for (i = 0; i < 2; ++i) {
    const uint16_t port = (uint16_t)sennit_tcp_listener_port(shared.listener);
    struct sennit_tcp_stream* client = NULL;
    struct sennit_fiber* fiber = NULL;
    shared.deadline = deadlines[i];
    EXPECT(sennit_fiber_spawn(&fiber, begin_accepting, &shared, NULL) == 0);
    EXPECT(sennit_self_sleep(1000000) == 0);
    EXPECT(shared.calls == i);
    EXPECT(sennit_tcp_stream_connect(&client, "127.0.0.1", port, SENNIT_NEVER) == 0);
    EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
    EXPECT(shared.calls == i + 1);
    sennit_tcp_stream_close(shared.stream);
    sennit_tcp_stream_close(client);
  }
  sennit_tcp_listener_close(shared.listener);
}

int become_accepting_waits(void) {
  return capi_run(accept_two, NULL);
}

static void begin_waiting_for_pipe(void* argument) {
  struct shared* shared = (struct shared*)argument;
  EXPECT(sennit_readiness_become_reading(shared->readiness, note_call, &shared, sizeof shared,
                                         SENNIT_NEVER) == 0);
}

static void begin_waiting_for_room(void* argument) {
  struct shared* shared = (struct shared*)argument;
  EXPECT(sennit_readiness_become_writing(shared->readiness, note_call, &shared, sizeof shared,
                                         sennit_now() + 60000000000) == 0);
}

static void wait_for_pipe(void* argument) {
  struct shared shared = {.calls = 0};
  struct sennit_fiber* fiber = NULL;
  int ends[2];
  (void)argument;
  EXPECT(pipe(ends) == 0);
  EXPECT(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
  EXPECT(sennit_readiness_create(&shared.readiness, ends[0]) == 0);
  EXPECT(sennit_fiber_spawn(&fiber, begin_waiting_for_pipe, &shared, NULL) == 0);
  EXPECT(sennit_self_sleep(1000000) == 0);
  EXPECT(shared.calls == 0);
  EXPECT(write(ends[1], "x", 1) == 1);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(shared.calls == 1);
  sennit_readiness_destroy(shared.readiness);
  EXPECT(sennit_readiness_create(&shared.readiness, ends[1]) == 0);
  EXPECT(sennit_fiber_spawn(&fiber, begin_waiting_for_room, &shared, NULL) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(shared.calls == 2);
  sennit_readiness_destroy(shared.readiness);
  close(ends[0]);
  close(ends[1]);
}

int become_waits_for_other_descriptors(void) {
  return capi_run(wait_for_pipe, NULL);
}

static void look_at_large(void* state) {
  const char* bytes = (const char*)state;
  struct sennit_tcp_stream* stream;
  EXPECT(((uintptr_t)state & 15) == 0);
  EXPECT(bytes[2047] == 'z');
  memcpy(&stream, bytes, sizeof stream);
  sennit_tcp_stream_close(stream);
}

static void refuse_within(void* argument) {
  struct sennit_tcp_stream* ends[2];
  char large[2049];
  (void)argument;
  memset(large, 0, sizeof large);
  large[2047] = 'z';
  EXPECT(capi_make_pair(ends) == 0);
  memcpy(large, &ends[0], sizeof ends[0]);
  EXPECT(sennit_tcp_stream_become_reading(NULL, look_at_large, NULL, 0, SENNIT_NEVER) == -EINVAL);
  EXPECT(sennit_tcp_stream_become_reading(ends[0], NULL, NULL, 0, SENNIT_NEVER) == -EINVAL);
  EXPECT(sennit_tcp_stream_become_reading(ends[0], look_at_large, NULL, 1, SENNIT_NEVER) == -EINVAL);
  EXPECT(sennit_tcp_stream_become_reading(ends[0], look_at_large, large, 2049, 0) == -EINVAL);
  EXPECT(sennit_tcp_stream_become_writing(NULL, look_at_large, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_tcp_listener_become_accepting(NULL, look_at_large, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_readiness_become_reading(NULL, look_at_large, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_readiness_become_writing(NULL, look_at_large, NULL, 0, 0) == -EINVAL);
  sennit_tcp_stream_close(ends[1]); /* at its end it is ready */
  EXPECT(sennit_tcp_stream_become_writing(ends[0], look_at_large, large, 2048, SENNIT_NEVER) == 0);
}

int become_reading_refuses(void) {
  struct sennit_tcp_stream* ends[2];
  CHECK(capi_make_pair(ends) == 0);
  CHECK(sennit_tcp_stream_become_reading(ends[0], note_call, NULL, 0, 0) == -EINVAL); /* not in a fiber */
  sennit_tcp_stream_close(ends[0]);
  sennit_tcp_stream_close(ends[1]);
  return capi_run(refuse_within, NULL);
}

void become_reading_with_cleanup(void* argument) {
  struct sennit_tcp_stream* ends[2];
  const int line __attribute__((cleanup(capi_note_line), unused)) = __LINE__;
  (void)argument;
  EXPECT(capi_make_pair(ends) == 0);
  sennit_tcp_stream_become_reading(ends[0], note_call, NULL, 0, SENNIT_NEVER);
}
