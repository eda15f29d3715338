/* counting_echo: sends back all bytes that it receives, on all cores, and counts them. In C.
 *
 *   counting_echo [--port PORT] [--workers N]    PORT 0, the default: the kernel chooses one
 *   nc 127.0.0.1 PORT                            in another terminal; type a line
 *
 * Each connection is a fiber that has no stack while it waits: not while its client is silent, and not while
 * it calls the accountant. The accountant is one fiber behind a port. Only it knows the sums, so that they
 * need no lock. SIGINT or SIGTERM ends the server: it accepts no more clients, sends back all that it has
 * read, and prints the sums.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "sennit/sennit.h"

static const int64_t second = 1000000000;

/* A request to the accountant, and its reply. */
struct entry {
  long clients;
  long bytes;
};

struct connection {
  struct connection* next;
  struct connection* previous;
  struct server* server;
  struct sennit_tcp_stream* stream;
  long bytes;
};

struct server {
  struct sennit_port* accounts;
  struct sennit_tcp_listener* listener;
  struct sennit_mutex* mutex;         /* of the ring */
  struct sennit_condition* all_ended; /* the ring is empty */
  struct connection all;              /* a ring that begins and ends here */
  uint16_t port;
  int error;
};

static int fail(struct server* server, const char* what, int error) {
  fprintf(stderr, "counting_echo: %s: %s\n", what, sennit_error_text(error));
  return server->error = error;
}

/* ---- The accountant. */

struct accountant {
  struct sennit_port* accounts;
  struct entry sums;
};

/* Answers a call, and waits for the next one without a stack. `state` is a copy, which goes with it. */
static void keep_accounts(void* state, int result, void* call) {
  struct accountant self = *(struct accountant*)state;
  const struct entry* request;
  if (result != 0)
    return; /* the port is closed */
  request = sennit_call_request(call);
  self.sums.clients += request->clients;
  self.sums.bytes += request->bytes;
  sennit_call_reply(call, &self.sums);
  sennit_port_become_receiving(self.accounts, keep_accounts, &self, sizeof self, SENNIT_NEVER);
  abort(); /* no memory */
}

static void begin_accounts(void* accounts) {
  const struct accountant self = {accounts, {0, 0}};
  sennit_port_become_receiving(accounts, keep_accounts, &self, sizeof self, SENNIT_NEVER);
  abort();
}

/* ---- A connection. Each function ends by waiting without a stack for the next one, or by leaving. */

static void leave(struct connection* self) {
  struct server* server = self->server;
  sennit_mutex_lock(server->mutex);
  sennit_tcp_stream_close(self->stream);
  self->next->previous = self->previous;
  self->previous->next = self->next;
  if (server->all.next == &server->all)
    sennit_condition_notify_all(server->all_ended);
  sennit_mutex_unlock(server->mutex);
  free(self);
}

static void note_sums(void* state, int result, void* value) {
  (void)result, (void)value;
  leave(*(struct connection**)state);
}

/* Tells the accountant, and leaves when it has answered. */
static void report(struct connection* self) {
  const struct entry mine = {1, self->bytes};
  sennit_port_become_calling(self->server->accounts, &mine, note_sums, &self, sizeof self, SENNIT_NEVER);
  leave(self); /* no memory, or the end: it is not counted */
}

static void echo(void* state);

static void rest(void* argument) {
  struct connection* self = argument;
  sennit_tcp_stream_become_reading(self->stream, echo, &self, sizeof self, SENNIT_NEVER);
  report(self); /* no memory */
}

static void echo(void* state) {
  struct connection* self = *(struct connection**)state;
  char bytes[4096];
  const ssize_t size = sennit_tcp_stream_read(self->stream, bytes, sizeof bytes, SENNIT_NEVER);
  if (size > 0 && sennit_tcp_stream_write_all(self->stream, bytes, (size_t)size, NULL, SENNIT_NEVER) == 0) {
    self->bytes += size;
    rest(self);
  } else {
    report(self);
  }
}

/* ---- The server. */

static int start_serving(struct server* server, struct sennit_tcp_stream* stream) {
  struct connection* made = malloc(sizeof *made);
  int error;
  if (made == NULL)
    return -ENOMEM;
  sennit_mutex_lock(server->mutex);
  *made = (struct connection){server->all.next, &server->all, server, stream, 0};
  made->next->previous = server->all.next = made;
  sennit_mutex_unlock(server->mutex);
  error = sennit_fiber_spawn(NULL, rest, made, NULL);
  if (error != 0)
    leave(made); /* closes the stream */
  return error == 0 ? 0 : -EAGAIN;
}

static void accept_all(void* argument) {
  struct server* server = argument;
  struct sennit_tcp_stream* stream;
  int error;
  while ((error = sennit_tcp_listener_accept(server->listener, &stream, SENNIT_NEVER)) == 0) {
    error = start_serving(server, stream);
    if (error == -ENOMEM)
      sennit_tcp_stream_close(stream);
    if (error != 0)
      sennit_self_sleep(second / 50); /* others may leave */
  }
  if (error != -ECANCELED)
    fail(server, "accept", error);
}

/* With the mutex locked. */
static void shut_down_all(struct server* server, int how) {
  struct connection* each;
  for (each = server->all.next; each != &server->all; each = each->next)
    shutdown(sennit_tcp_stream_descriptor(each->stream), how);
}

/* What was read is sent back. Clients that do not take it within a second are cut off. */
static void end_connections(struct server* server) {
  const int64_t deadline = sennit_now() + second;
  int error = 0;
  sennit_mutex_lock(server->mutex);
  shut_down_all(server, SHUT_RD);
  while (server->all.next != &server->all && error == 0)
    error = sennit_condition_wait_until(server->all_ended, server->mutex, deadline);
  shut_down_all(server, SHUT_RDWR);
  while (server->all.next != &server->all)
    sennit_condition_wait(server->all_ended, server->mutex);
  sennit_mutex_unlock(server->mutex);
}

static void print_sums(struct server* server) {
  const struct entry none = {0, 0};
  struct entry sums;
  const int error = sennit_port_call(server->accounts, &none, &sums, SENNIT_NEVER);
  if (error != 0)
    fail(server, "accounts", error);
  else
    printf("%ld clients, %ld bytes.\n", sums.clients, sums.bytes);
}

static void serve(struct server* server, struct sennit_signal_set* signals) {
  struct sennit_fiber* accountant;
  struct sennit_fiber* acceptor;
  int error = sennit_fiber_spawn(&accountant, begin_accounts, server->accounts, NULL);
  if (error != 0) {
    fail(server, "start", error);
    return;
  }
  if ((error = sennit_tcp_listener_listen(&server->listener, "127.0.0.1", server->port, 0)) != 0) {
    fail(server, "listen", error);
  } else {
    error = sennit_fiber_spawn(&acceptor, accept_all, server, NULL);
    if (error == 0) {
      printf("Echoing on 127.0.0.1:%d; Ctrl-C ends it.\n", sennit_tcp_listener_port(server->listener));
      fflush(stdout);
      sennit_signal_set_wait(signals, SENNIT_NEVER);
    }
    sennit_tcp_listener_close(server->listener);
    if (error == 0)
      sennit_fiber_join(acceptor, SENNIT_NEVER);
    else
      fail(server, "start", error);
    end_connections(server);
    print_sums(server);
  }
  sennit_port_close(server->accounts);
  sennit_fiber_join(accountant, SENNIT_NEVER);
}

/* The main fiber's function. */
static void run(void* argument) {
  static const int stop[] = {SIGINT, SIGTERM};
  struct server* server = argument;
  struct sennit_signal_set* signals = NULL;
  int error = sennit_signal_set_create(&signals, stop, 2);
  if (error == 0)
    error = sennit_port_create_shared(&server->accounts, sizeof(struct entry), sizeof(struct entry));
  if (error == 0)
    error = sennit_mutex_create_shared(&server->mutex);
  if (error == 0)
    error = sennit_condition_create_shared(&server->all_ended);
  if (error == 0)
    serve(server, signals);
  else
    fail(server, "start", error);
  sennit_condition_destroy(server->all_ended);
  sennit_mutex_destroy(server->mutex);
  sennit_port_destroy(server->accounts);
  sennit_signal_set_destroy(signals);
}

/* Returns whether `word` is a number up to `most`. */
static int parse(const char* word, unsigned long most, unsigned long* number) {
  char* end = NULL;
  *number = strtoul(word, &end, 10);
  return end != word && *end == '\0' && *number <= most;
}

int main(int count, char** words) {
  struct server server = {.all = {&server.all, &server.all, NULL, NULL, 0}};
  struct sennit_runtime_options options = {.workers = SENNIT_ALL_CPUS};
  struct sennit_runtime* runtime = NULL;
  unsigned long number = 0;
  int error;
  int i;
  for (i = 1; i + 1 < count; i += 2) {
    if (strcmp(words[i], "--port") == 0 && parse(words[i + 1], UINT16_MAX, &number))
      server.port = (uint16_t)number;
    else if (strcmp(words[i], "--workers") == 0 && parse(words[i + 1], 64, &number) && number > 0)
      options.workers = (unsigned)number;
    else
      break;
  }
  if (i != count) {
    fprintf(stderr, "usage: %s [--port PORT] [--workers N]\n", words[0]);
    return 2;
  }
  error = sennit_runtime_create(&runtime, &options);
  if (error == 0)
    error = sennit_runtime_run(runtime, run, &server);
  if (error != 0)
    fail(&server, "runtime", error);
  sennit_runtime_destroy(runtime);
  return server.error == 0 ? 0 : 1;
}
