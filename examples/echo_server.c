/* echo_server: sends back all bytes that it receives. In C, with a fiber per connection.
 *
 *   echo_server [--port PORT]     PORT 0, the default: the kernel chooses one
 *   nc 127.0.0.1 PORT             in another terminal; type a line
 *
 * Each connection is served by plain code that reads and writes. While it waits, others run. While a client
 * is silent, its fiber has no stack. SIGINT or SIGTERM ends the server gracefully: it accepts no more
 * clients, and sends back all that it has read. Clients that do not take it within a second are cut off. All
 * fibers have then ended by themselves, so the runtime has nothing to unwind.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "sennit/sennit.h"

static const int64_t second = 1000000000;

struct connection {
  struct connection* next;
  struct connection* previous;
  struct server* server;
  struct sennit_tcp_stream* stream; /* null: cut off */
};

struct server {
  struct connection all; /* a ring that begins and ends here */
  struct sennit_tcp_listener* listener;
  struct sennit_fiber* main;
  uint16_t port;
  int error;
};

static int fail(struct server* server, const char* what, int error) {
  fprintf(stderr, "echo_server: %s: %s\n", what, sennit_error_text(error));
  return server->error = error;
}

static void leave(struct connection* self) {
  struct server* server = self->server;
  sennit_tcp_stream_close(self->stream);
  self->next->previous = self->previous;
  self->previous->next = self->next;
  free(self);
  if (server->all.next == &server->all)
    sennit_fiber_unpark(server->main); /* it may wait for the last of us */
}

static void serve(void* state);

/* A fiber's function. The fiber needs no stack until the client sends something. Then, or when the stream is
 * closed, the fiber resumes in serve(). */
static void rest(void* argument) {
  struct connection* self = argument;
  sennit_tcp_stream_become_reading(self->stream, serve, &self, sizeof self, SENNIT_NEVER);
  leave(self); /* it was cut off before */
}

static void serve(void* state) {
  struct connection* self = *(struct connection**)state;
  char bytes[4096];
  const ssize_t size = sennit_tcp_stream_read(self->stream, bytes, sizeof bytes, SENNIT_NEVER);
  if (size > 0 && sennit_tcp_stream_write_all(self->stream, bytes, (size_t)size, NULL, SENNIT_NEVER) == 0)
    rest(self);
  else
    leave(self);
}

static int start_serving(struct server* server, struct sennit_tcp_stream* stream) {
  struct connection* made = malloc(sizeof *made);
  int error;
  if (made == NULL)
    return -ENOMEM;
  error = sennit_fiber_spawn(NULL, rest, made, NULL);
  if (error != 0) {
    free(made);
    return error;
  }
  *made = (struct connection){server->all.next, &server->all, server, stream};
  made->next->previous = server->all.next = made;
  return 0;
}

/* A fiber's function: accepts until the listener is closed. */
static void accept_all(void* argument) {
  struct server* server = argument;
  struct sennit_tcp_stream* stream;
  int error;
  while ((error = sennit_tcp_listener_accept(server->listener, &stream, SENNIT_NEVER)) == 0) {
    if (start_serving(server, stream) == 0) {
      sennit_self_yield(); /* it comes to rest, and the next one gets its stack */
    } else {
      sennit_tcp_stream_close(stream); /* no memory now; others may leave */
      sennit_self_sleep(second / 50);
    }
  }
  if (error != -ECANCELED)
    fail(server, "accept", error);
}

/* Each connection is read to its end. Those that have not ended within a second are closed. */
static void end_connections(struct server* server) {
  const int64_t deadline = sennit_now() + second;
  struct connection* each;
  for (each = server->all.next; each != &server->all; each = each->next)
    shutdown(sennit_tcp_stream_descriptor(each->stream), SHUT_RD);
  while (server->all.next != &server->all && sennit_self_park_until(deadline) == 0) {
  }
  for (each = server->all.next; each != &server->all; each = each->next) {
    struct sennit_tcp_stream* stream = each->stream;
    each->stream = NULL;
    sennit_tcp_stream_close(stream);
  }
  while (server->all.next != &server->all)
    sennit_self_yield();
}

/* The main fiber's function. */
static void run(void* argument) {
  static const int stop[] = {SIGINT, SIGTERM};
  struct server* server = argument;
  struct sennit_signal_set* signals = NULL;
  struct sennit_fiber* acceptor = NULL;
  int error;
  server->main = sennit_self();
  if ((error = sennit_signal_set_create(&signals, stop, 2)) != 0) {
    fail(server, "signals", error);
  } else if ((error = sennit_tcp_listener_listen(&server->listener, "127.0.0.1", server->port, 0)) != 0) {
    fail(server, "listen", error);
  } else if ((error = sennit_fiber_spawn(&acceptor, accept_all, server, NULL)) != 0) {
    fail(server, "start", error);
    sennit_tcp_listener_close(server->listener);
  } else {
    printf("Echoing on 127.0.0.1:%d; Ctrl-C ends it.\n", sennit_tcp_listener_port(server->listener));
    fflush(stdout);
    sennit_signal_set_wait(signals, SENNIT_NEVER);
    sennit_tcp_listener_close(server->listener);
    sennit_fiber_join(acceptor, SENNIT_NEVER);
    end_connections(server);
    puts("Ended.");
  }
  sennit_signal_set_destroy(signals);
}

static int parse_port(int count, char** words, uint16_t* port) {
  char* end = NULL;
  unsigned long number;
  if (count == 1)
    return 0;
  if (count != 3 || strcmp(words[1], "--port") != 0)
    return -EINVAL;
  number = strtoul(words[2], &end, 10);
  if (end == words[2] || *end != '\0' || number > UINT16_MAX)
    return -EINVAL;
  *port = (uint16_t)number;
  return 0;
}

int main(int count, char** words) {
  struct server server = {.all = {&server.all, &server.all, NULL, NULL}};
  struct sennit_runtime* runtime = NULL;
  int error;
  if (parse_port(count, words, &server.port) != 0) {
    fprintf(stderr, "usage: %s [--port PORT]\n", words[0]);
    return 2;
  }
  error = sennit_runtime_create(&runtime, NULL);
  if (error == 0)
    error = sennit_runtime_run(runtime, run, &server);
  if (error != 0)
    fail(&server, "runtime", error);
  sennit_runtime_destroy(runtime);
  return server.error == 0 ? 0 : 1;
}
