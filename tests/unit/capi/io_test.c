/* TCP, signals, readiness, offload, files, look-up. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

static void echo(void* argument) {
  struct sennit_tcp_stream* stream = (struct sennit_tcp_stream*)argument;
  char bytes[1000];
  ssize_t size;
  while ((size = sennit_tcp_stream_read(stream, bytes, sizeof bytes, SENNIT_NEVER)) > 0)
    EXPECT(sennit_tcp_stream_write_all(stream, bytes, (size_t)size, NULL, SENNIT_NEVER) == 0);
  EXPECT(size == 0);
  sennit_tcp_stream_close(stream);
}

static void accept_one(void* argument) {
  struct sennit_tcp_stream* stream = NULL;
  EXPECT(sennit_tcp_listener_accept((struct sennit_tcp_listener*)argument, &stream, SENNIT_NEVER) == 0);
  echo(stream);
}

static void send_pattern(void* argument) {
  struct sennit_tcp_stream* stream = (struct sennit_tcp_stream*)argument;
  static char pattern[300000];
  size_t written = 0;
  size_t i;
  for (i = 0; i < sizeof pattern; ++i)
    pattern[i] = (char)(i * 7);
  EXPECT(sennit_tcp_stream_write_all(stream, pattern, sizeof pattern, &written, SENNIT_NEVER) == 0);
  EXPECT(written == sizeof pattern);
  EXPECT(sennit_tcp_stream_shutdown(stream) == 0);
}

static void talk(void* argument) {
  struct sennit_tcp_listener* listener = NULL;
  struct sennit_tcp_stream* stream = NULL;
  struct sennit_fiber* server = NULL;
  struct sennit_fiber* sender = NULL;
  char bytes[512];
  size_t total = 0;
  ssize_t size;
  ssize_t i;
  (void)argument;
  EXPECT(sennit_tcp_listener_listen(&listener, "127.0.0.1", 0, 0) == 0);
  EXPECT(sennit_tcp_listener_port(listener) > 0);
  EXPECT(sennit_tcp_listener_descriptor(listener) >= 0);
  EXPECT(sennit_tcp_listener_refused(listener) == 0);
  EXPECT(sennit_fiber_spawn(&server, accept_one, listener, NULL) == 0);
  EXPECT(sennit_tcp_stream_connect(&stream, "127.0.0.1", (uint16_t)sennit_tcp_listener_port(listener),
                                   SENNIT_NEVER) == 0);
  EXPECT(sennit_tcp_stream_descriptor(stream) >= 0);
  EXPECT(sennit_fiber_spawn(&sender, send_pattern, stream, NULL) == 0);
  while ((size = sennit_tcp_stream_read(stream, bytes, sizeof bytes, SENNIT_NEVER)) > 0)
    for (i = 0; i < size; ++i, ++total)
      EXPECT(bytes[i] == (char)(total * 7));
  EXPECT(size == 0 && total == 300000);
  EXPECT(sennit_fiber_join(sender, SENNIT_NEVER) == 0);
  EXPECT(sennit_fiber_join(server, SENNIT_NEVER) == 0);
  sennit_tcp_stream_close(stream);
  sennit_tcp_listener_close(listener);
}

int tcp_echo(void) {
  return capi_run(talk, NULL);
}

static void wait_in_vain(void* argument) {
  struct sennit_tcp_listener* listener = NULL;
  struct sennit_tcp_stream* stream = NULL;
  struct sennit_tcp_stream* ends[2];
  static char much[1 << 20];
  size_t written = 0;
  char byte;
  (void)argument;
  EXPECT(capi_make_pair(ends) == 0);
  EXPECT(sennit_tcp_stream_read(ends[0], &byte, 1, 0) == -ETIMEDOUT);
  EXPECT(sennit_tcp_stream_read(ends[0], &byte, 1, sennit_now() + 1000000) == -ETIMEDOUT);
  EXPECT(sennit_tcp_stream_write_all(ends[0], much, sizeof much, &written, sennit_now() + 1000000) ==
         -ETIMEDOUT);
  EXPECT(written > 0 && written < sizeof much);
  EXPECT(sennit_tcp_stream_write(ends[1], "x", 1, 0) == 1);
  EXPECT(sennit_tcp_stream_read(ends[0], &byte, 1, 0) == 1 && byte == 'x');
  sennit_tcp_stream_close(ends[1]);
  EXPECT(sennit_tcp_stream_write(ends[0], "x", 1, 0) == -EPIPE);
  sennit_tcp_stream_close(ends[0]);
  EXPECT(sennit_tcp_listener_listen(&listener, "127.0.0.1", 0, 5) == 0);
  EXPECT(sennit_tcp_listener_accept(listener, &stream, sennit_now() + 1000000) == -ETIMEDOUT);
  EXPECT(stream == NULL);
  sennit_tcp_listener_close(listener);
}

int tcp_times_out(void) {
  return capi_run(wait_in_vain, NULL);
}

static void read_until_closed(void* argument) {
  char byte;
  EXPECT(sennit_tcp_stream_read((struct sennit_tcp_stream*)argument, &byte, 1, SENNIT_NEVER) == -ECANCELED);
}

static void accept_until_closed(void* argument) {
  struct sennit_tcp_stream* stream = NULL;
  EXPECT(sennit_tcp_listener_accept((struct sennit_tcp_listener*)argument, &stream, SENNIT_NEVER) ==
         -ECANCELED);
}

static void close_meanwhile(void* argument) {
  struct sennit_tcp_listener* listener = NULL;
  struct sennit_tcp_stream* ends[2];
  struct sennit_fiber* reader = NULL;
  struct sennit_fiber* acceptor = NULL;
  (void)argument;
  EXPECT(capi_make_pair(ends) == 0);
  EXPECT(sennit_tcp_listener_listen(&listener, "127.0.0.1", 0, 0) == 0);
  EXPECT(sennit_fiber_spawn(&reader, read_until_closed, ends[0], NULL) == 0);
  EXPECT(sennit_fiber_spawn(&acceptor, accept_until_closed, listener, NULL) == 0);
  sennit_self_yield();
  sennit_tcp_stream_close(ends[0]);
  sennit_tcp_listener_close(listener);
  EXPECT(sennit_fiber_join(reader, SENNIT_NEVER) == 0);
  EXPECT(sennit_fiber_join(acceptor, SENNIT_NEVER) == 0);
  sennit_tcp_stream_close(ends[1]);
}

int tcp_closed_meanwhile(void) {
  return capi_run(close_meanwhile, NULL);
}

struct waiter {
  struct sennit_tcp_stream* stream;
  struct sennit_tcp_listener* listener;
  struct sennit_readiness* readiness;
  struct sennit_signal_set* signals;
  int step; /* the wait that begins next */
};

static void wait_for_each(void* argument) {
  struct waiter* on = (struct waiter*)argument;
  struct sennit_tcp_stream* accepted = NULL;
  char byte;
  EXPECT(sennit_tcp_stream_read(on->stream, &byte, 1, SENNIT_NEVER) == 1);
  on->step = 1;
  EXPECT(sennit_tcp_listener_accept(on->listener, &accepted, SENNIT_NEVER) == 0);
  sennit_tcp_stream_close(accepted);
  on->step = 2;
  EXPECT(sennit_readiness_wait_readable(on->readiness, SENNIT_NEVER) == 0);
  on->step = 3;
  EXPECT(sennit_signal_set_wait(on->signals, SENNIT_NEVER) == SIGUSR1);
}

/* It is parked then: both are fibers of one thread. */
static void until_waits(struct waiter* on, int step) {
  while (on->step != step)
    sennit_self_yield();
}

static size_t written_meanwhile;
static void write_much(void* argument) {
  static char much[4 << 20];
  EXPECT(sennit_tcp_stream_write_all((struct sennit_tcp_stream*)argument, much, sizeof much,
                                     &written_meanwhile, SENNIT_NEVER) == -ECANCELED);
}

static void use_beside_another(void* argument) {
  static const int signals[] = {SIGUSR1};
  struct waiter on = {NULL, NULL, NULL, NULL, 0};
  struct sennit_tcp_stream* ends[2];
  struct sennit_tcp_stream* stream = NULL;
  struct sennit_fiber* other = NULL;
  size_t written = 1;
  char byte;
  int pipes[2];
  (void)argument;
  EXPECT(capi_make_pair(ends) == 0 && pipe(pipes) == 0);
  on.stream = ends[0];
  EXPECT(sennit_tcp_listener_listen(&on.listener, "127.0.0.1", 0, 0) == 0);
  EXPECT(sennit_readiness_create(&on.readiness, pipes[0]) == 0);
  EXPECT(sennit_signal_set_create(&on.signals, signals, 1) == 0);
  EXPECT(sennit_fiber_spawn(&other, wait_for_each, &on, NULL) == 0);
  sennit_self_yield();
  EXPECT(sennit_tcp_stream_read(on.stream, &byte, 1, SENNIT_NEVER) == -EBUSY);
  EXPECT(sennit_tcp_stream_write(ends[1], "x", 1, 0) == 1);
  until_waits(&on, 1);
  EXPECT(sennit_tcp_listener_accept(on.listener, &stream, SENNIT_NEVER) == -EBUSY);
  EXPECT(sennit_tcp_stream_connect(&stream, "127.0.0.1", (uint16_t)sennit_tcp_listener_port(on.listener),
                                   SENNIT_NEVER) == 0);
  sennit_tcp_stream_close(stream);
  until_waits(&on, 2);
  EXPECT(sennit_readiness_wait_readable(on.readiness, SENNIT_NEVER) == -EBUSY);
  EXPECT(write(pipes[1], "x", 1) == 1);
  until_waits(&on, 3);
  EXPECT(sennit_signal_set_wait(on.signals, SENNIT_NEVER) == -EBUSY);
  raise(SIGUSR1);
  EXPECT(sennit_fiber_join(other, SENNIT_NEVER) == 0);
  EXPECT(sennit_fiber_spawn(&other, write_much, ends[0], NULL) == 0);
  sennit_self_yield();
  EXPECT(sennit_tcp_stream_write(ends[0], "x", 1, SENNIT_NEVER) == -EBUSY);
  EXPECT(sennit_tcp_stream_write_all(ends[0], "x", 1, &written, SENNIT_NEVER) == -EBUSY && written == 0);
  EXPECT(written_meanwhile > 0); /* counted during the write */
  sennit_tcp_stream_close(ends[0]);
  EXPECT(sennit_fiber_join(other, SENNIT_NEVER) == 0);
  sennit_tcp_stream_close(ends[1]);
  sennit_tcp_listener_close(on.listener);
  sennit_readiness_destroy(on.readiness);
  sennit_signal_set_destroy(on.signals);
  EXPECT(close(pipes[0]) == 0 && close(pipes[1]) == 0);
}

static void read_then_release(void* argument) {
  struct sennit_tcp_stream* ends[2];
  struct sennit_tcp_stream* again = NULL;
  struct sennit_fiber* reader = NULL;
  int descriptor;
  char byte = 0;
  (void)argument;
  EXPECT(capi_make_pair(ends) == 0);
  EXPECT(sennit_fiber_spawn(&reader, read_until_closed, ends[0], NULL) == 0);
  sennit_self_yield();
  descriptor = sennit_tcp_stream_descriptor(ends[0]);
  EXPECT(sennit_tcp_stream_release(ends[0]) == descriptor);
  EXPECT(sennit_fiber_join(reader, SENNIT_NEVER) == 0);
  EXPECT(sennit_tcp_stream_write(ends[1], "x", 1, SENNIT_NEVER) == 1);
  EXPECT(sennit_tcp_stream_adopt(&again, descriptor) == 0);
  EXPECT(sennit_tcp_stream_read(again, &byte, 1, SENNIT_NEVER) == 1 && byte == 'x');
  EXPECT(sennit_tcp_stream_read(again, &byte, 1, 0) == -ETIMEDOUT); /* has waited */
  EXPECT(sennit_tcp_stream_release(again) == descriptor);
  EXPECT(write(descriptor, "y", 1) == 1 && close(descriptor) == 0);
  EXPECT(sennit_tcp_stream_read(ends[1], &byte, 1, SENNIT_NEVER) == 1 && byte == 'y');
  sennit_tcp_stream_close(ends[1]);
}

int tcp_releases(void) {
  CHECK(sennit_tcp_stream_release(NULL) == -EINVAL);
  return capi_run(read_then_release, NULL);
}

int one_at_a_time(void) {
  return capi_run(use_beside_another, NULL);
}

static void fail_to_connect(void* argument) {
  struct sennit_tcp_listener* listener = NULL;
  struct sennit_tcp_stream* stream = NULL;
  uint16_t port;
  (void)argument;
  EXPECT(sennit_tcp_listener_listen(&listener, "127.0.0.1", 0, 0) == 0);
  port = (uint16_t)sennit_tcp_listener_port(listener);
  sennit_tcp_listener_close(listener);
  EXPECT(sennit_tcp_stream_connect(&stream, "127.0.0.1", port, SENNIT_NEVER) == -ECONNREFUSED);
  EXPECT(sennit_tcp_stream_connect(&stream, "", port, SENNIT_NEVER) == SENNIT_LOOKUP_ERROR(EAI_NONAME));
  EXPECT(stream == NULL);
}

int tcp_refuses(void) {
  struct sennit_tcp_listener* listener = NULL;
  struct sennit_tcp_stream* stream = NULL;
  char byte;
  CHECK(sennit_tcp_listener_listen(&listener, "no address", 0, 0) == -EINVAL);
  CHECK(sennit_tcp_listener_listen(&listener, "127.0.0.1", 0, -1) == -EINVAL);
  CHECK(sennit_tcp_stream_connect(&stream, "127.0.0.1", 1, 0) == -EINVAL); /* outside of a fiber */
  CHECK(sennit_tcp_stream_read(NULL, &byte, 1, 0) == -EINVAL);
  CHECK(sennit_tcp_stream_adopt(&stream, -1) == -EBADF);
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) == 0);
  CHECK(sennit_tcp_stream_adopt(&stream, ends[0]) == -EPROTOTYPE && stream == NULL);
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0); /* they remained the caller's */
  CHECK(pipe(ends) == 0);
  CHECK(sennit_tcp_stream_adopt(&stream, ends[0]) == -ENOTSOCK && stream == NULL);
  CHECK(sennit_tcp_stream_adopt(NULL, ends[1]) == -EINVAL);
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
  CHECK(sennit_tcp_stream_descriptor(NULL) == -EINVAL);
  sennit_tcp_stream_close(NULL);
  sennit_tcp_listener_close(NULL);
  return capi_run(fail_to_connect, NULL);
}

static void raise_soon(void* argument) {
  (void)argument;
  raise(SIGUSR2);
  raise(SIGUSR1);
}

static void wait_for_signals(void* argument) {
  const int signals[] = {SIGUSR1, SIGUSR2};
  struct sennit_signal_set* set = NULL;
  (void)argument;
  EXPECT(sennit_signal_set_create(&set, signals, 2) == 0);
  EXPECT(sennit_signal_set_wait(set, sennit_now() + 1000000) == -ETIMEDOUT);
  EXPECT(sennit_fiber_spawn(NULL, raise_soon, NULL, NULL) == 0);
  EXPECT(sennit_signal_set_wait(set, SENNIT_NEVER) == SIGUSR1);
  EXPECT(sennit_signal_set_wait(set, SENNIT_NEVER) == SIGUSR2);
  EXPECT(sennit_signal_set_wait(set, 0) == -ETIMEDOUT);
  sennit_signal_set_destroy(set);
}

int signals_come(void) {
  const int impossible[] = {SIGUSR1, SIGKILL};
  struct sennit_signal_set* set = NULL;
  CHECK(sennit_signal_set_create(&set, impossible, 2) == -EINVAL && set == NULL);
  CHECK(sennit_signal_set_create(&set, NULL, 1) == -EINVAL);
  sennit_signal_set_destroy(NULL);
  return capi_run(wait_for_signals, NULL);
}

static void write_soon(void* argument) {
  EXPECT(write(*(int*)argument, "x", 1) == 1);
}

static void wait_until_ready(void* argument) {
  struct sennit_readiness* in = NULL;
  struct sennit_readiness* out = NULL;
  struct sennit_readiness* again = NULL;
  int ends[2];
  (void)argument;
  EXPECT(pipe(ends) == 0);
  EXPECT(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
  EXPECT(sennit_readiness_create(&in, ends[0]) == 0);
  EXPECT(sennit_readiness_create(&out, ends[1]) == 0);
  EXPECT(sennit_readiness_wait_readable(in, sennit_now() + 1000000) == -ETIMEDOUT);
  EXPECT(sennit_readiness_wait_writable(out, SENNIT_NEVER) == 0);
  EXPECT(sennit_readiness_create(&again, ends[1]) == 0);
  EXPECT(sennit_readiness_wait_writable(again, SENNIT_NEVER) == 0);
  sennit_readiness_destroy(again);
  EXPECT(sennit_fiber_spawn(NULL, write_soon, &ends[1], NULL) == 0);
  EXPECT(sennit_readiness_wait_readable(in, SENNIT_NEVER) == 0);
  sennit_readiness_destroy(in);
  sennit_readiness_destroy(out);
  close(ends[0]);
  close(ends[1]);
}

int readiness_tells(void) {
  struct sennit_readiness* readiness = NULL;
  CHECK(sennit_readiness_create(&readiness, -1) == -EINVAL);
  CHECK(sennit_readiness_wait_readable(NULL, 0) == -EINVAL);
  sennit_readiness_destroy(NULL);
  return capi_run(wait_until_ready, NULL);
}

static void note_fiber(void* argument) {
  *(struct sennit_fiber**)argument = sennit_self();
}

static void offload_one(void* argument) {
  struct sennit_fiber* self = sennit_self();
  (void)argument;
  EXPECT(sennit_offload(note_fiber, &self) == 0);
  EXPECT(self == NULL); /* it ran on another thread */
  EXPECT(sennit_offload(capi_throw_runtime_error, NULL) == -ENOTRECOVERABLE);
}

int offload_runs(void) {
  struct sennit_fiber* self = (struct sennit_fiber*)&self;
  CHECK(sennit_offload(NULL, NULL) == -EINVAL);
  CHECK(sennit_offload(note_fiber, &self) == 0 && self == NULL); /* on the spot */
  CHECK(sennit_offload_set_limit(0) == -EINVAL);
  CHECK(sennit_offload_set_limit(8) == 0);
  return capi_run(offload_one, NULL);
}

static void look_up_localhost(void* argument) {
  char** addresses = NULL;
  const int count = sennit_host_look_up("127.0.0.1", &addresses, SENNIT_NEVER);
  (void)argument;
  EXPECT(count == 1);
  if (count != 1)
    return;
  EXPECT(strcmp(addresses[0], "127.0.0.1") == 0 && addresses[1] == NULL);
  free(addresses);
  EXPECT(sennit_host_look_up("", &addresses, SENNIT_NEVER) == SENNIT_LOOKUP_ERROR(EAI_NONAME));
}

int look_up_finds(void) {
  CHECK(sennit_host_look_up(NULL, NULL, 0) == -EINVAL);
  return capi_run(look_up_localhost, NULL);
}

static void use_file(void* argument) {
  char path[] = "/tmp/sennit_capi_XXXXXX";
  char bytes[8] = {0};
  const int made = mkstemp(path);
  struct sennit_file* file = NULL;
  uint64_t size = 0;
  size_t written = 0;
  (void)argument;
  EXPECT(made >= 0 && close(made) == 0);
  EXPECT(sennit_file_open(&file, path, O_RDWR, 0) == 0);
  if (file == NULL)
    return;
  EXPECT(sennit_file_write_all(file, "begun", 5, &written) == 0 && written == 5);
  EXPECT(sennit_file_write_all_at(file, 2, "nd", 2, NULL) == 0);
  EXPECT(sennit_file_sync(file) == 0);
  EXPECT(sennit_file_size(file, &size) == 0 && size == 5);
  EXPECT(sennit_file_read(file, bytes, sizeof bytes) == 0); /* the position is at the end */
  EXPECT(sennit_file_read_at(file, 1, bytes, sizeof bytes) == 4 && memcmp(bytes, "endn", 4) == 0);
  EXPECT(sennit_file_read_at(file, 0, NULL, 1) == -EINVAL);
  EXPECT(sennit_file_close(file) == 0);
  file = NULL;
  EXPECT(sennit_file_open(&file, path, O_RDONLY, 0) == 0);
  written = 1;
  EXPECT(sennit_file_write_all(file, "x", 1, &written) == -EBADF && written == 0);
  EXPECT(sennit_file_close(file) == 0 && unlink(path) == 0);
  file = NULL;
  EXPECT(sennit_file_open(&file, path, O_RDONLY, 0) == -ENOENT && file == NULL);
}

int files_work(void) {
  CHECK(sennit_file_open(NULL, "x", O_RDONLY, 0) == -EINVAL);
  CHECK(sennit_file_read(NULL, NULL, 0) == -EINVAL);
  CHECK(sennit_file_close(NULL) == 0);
  use_file(NULL); /* on the spot */
  return capi_run(use_file, NULL);
}
