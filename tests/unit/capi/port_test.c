/* Ports, in runtimes of both kinds. */
#include <stdatomic.h>
#include <string.h>

#include "check.h"

struct big {
  long number;
  char rest[492];
};

struct service {
  struct sennit_port* port;
  struct sennit_call* call;
  atomic_long sum;
  long left;
  int result;
};

static struct sennit_port* make_port(bool shared, size_t request, size_t reply) {
  struct sennit_port* made = NULL;
  EXPECT((shared ? sennit_port_create_shared(&made, request, reply)
                 : sennit_port_create(&made, request, reply)) == 0);
  return made;
}

static int square(void* service, const void* request, void* reply) {
  const long number = *(const long*)request;
  atomic_fetch_add(&((struct service*)service)->sum, number);
  *(long*)reply = number * number;
  return number == 13 ? EDOM : 0;
}

static void serve(void* argument) {
  EXPECT(sennit_port_serve(((struct service*)argument)->port, square, argument) == 0);
}

static void ask(void* argument) {
  struct service* service = argument;
  long number;
  long reply = -1;
  for (number = 1; number <= 100; ++number) {
    const int result = sennit_port_call(service->port, &number, &reply, SENNIT_NEVER);
    EXPECT(number == 13 ? result == -EDOM && reply == 144 : result == 0 && reply == number * number);
  }
}

static void run_and_join(sennit_function function, void* argument) {
  struct sennit_fiber* fiber = NULL;
  EXPECT(sennit_fiber_spawn(&fiber, function, argument, NULL) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
}

/* Answers with a stack, by both ways. */
static void receive_and_reply(void* argument) {
  struct service* service = argument;
  struct sennit_call* call = NULL;
  int result = sennit_port_receive(service->port, &call, SENNIT_NEVER);
  while (result == 0) {
    struct big* big = sennit_call_request(call);
    EXPECT(((uintptr_t)big & 15) == 0 && big->rest[491] == 'z');
    big->number = -big->number;
    if (big->number % 2 == 0) {
      result = sennit_call_reply_and_receive(&call, big);
    } else {
      EXPECT(sennit_call_reply(call, big) == 0);
      result = sennit_port_receive(service->port, &call, SENNIT_NEVER);
    }
  }
  EXPECT(result == -EPIPE);
}

static void ask_big(void* argument) {
  struct service* service = argument;
  struct big big;
  long number;
  memset(&big, 'z', sizeof big);
  for (number = 1; number <= 100; ++number) {
    big.number = number;
    EXPECT(sennit_port_call(service->port, &big, &big, SENNIT_NEVER) == 0);
    EXPECT(big.number == -number && big.rest[491] == 'z');
  }
}

/* Neither side has a stack. */
static void take_call(void* state, int result, void* value) {
  struct service* service = *(struct service**)state;
  long* number = sennit_call_request(value);
  if (result != 0) {
    EXPECT(result == -EPIPE && value == NULL && number == NULL);
    return;
  }
  ++*number;
  EXPECT(sennit_call_reply(value, number) == 0);
  EXPECT(sennit_port_become_receiving(service->port, take_call, &service, sizeof service, SENNIT_NEVER) == 0);
}

static void begin_receiving(void* argument) {
  EXPECT(sennit_port_become_receiving(((struct service*)argument)->port, take_call, &argument,
                                      sizeof argument, SENNIT_NEVER) == 0);
}

static void take_reply(void* state, int result, void* value) {
  struct service* service = *(struct service**)state;
  EXPECT(result == 0 && *(long*)value == service->left + 1);
  if (--service->left > 0)
    EXPECT(sennit_port_become_calling(service->port, &service->left, take_reply, &service, sizeof service,
                                      SENNIT_NEVER) == 0);
}

static void begin_calling(void* argument) {
  struct service* service = argument;
  EXPECT(sennit_port_become_calling(service->port, &service->left, take_reply, &service, sizeof service,
                                    sennit_now() + 60000000000) == 0);
}

static void note_result(void* state, int result, void* value) {
  struct service* service = *(struct service**)state;
  service->result = result;
  EXPECT(value == NULL);
}

static void call_until(void* argument) {
  struct service* service = argument;
  EXPECT(sennit_port_become_calling(service->port, &service->left, note_result, &service, sizeof service,
                                    sennit_now() + 1000000) == 0);
}

static void receive_until(void* argument) {
  struct service* service = argument;
  EXPECT(sennit_port_become_receiving(service->port, note_result, &service, sizeof service,
                                      sennit_now() + 1000000) == 0);
}

static void ask_once(void* argument) {
  struct service* service = argument;
  long reply = 5;
  service->result = sennit_port_call(service->port, &service->left, &reply, SENNIT_NEVER);
  EXPECT(service->result == 0 || reply == 5);
}

static void receive_first(void* argument) {
  struct service* service = argument;
  EXPECT(sennit_port_receive(service->port, &service->call, SENNIT_NEVER) == 0);
}

static void use_ports(void* argument) {
  const bool shared = *(bool*)argument;
  struct service service = {make_port(shared, sizeof(long), sizeof(long)), NULL, 0, 100, 1};
  struct sennit_fiber* servers[2];
  struct sennit_fiber* clients[2];
  int i;
  EXPECT(sennit_fiber_spawn(&servers[0], serve, &service, NULL) == 0);
  EXPECT(sennit_fiber_spawn(&servers[1], serve, &service, NULL) == 0);
  for (i = 0; i < 2; ++i)
    EXPECT(sennit_fiber_spawn(&clients[i], ask, &service, NULL) == 0);
  for (i = 0; i < 2; ++i)
    EXPECT(sennit_fiber_join(clients[i], SENNIT_NEVER) == 0);
  EXPECT(atomic_load(&service.sum) == 10100);
  EXPECT(sennit_port_close(service.port) == 0);
  for (i = 0; i < 2; ++i)
    EXPECT(sennit_fiber_join(servers[i], SENNIT_NEVER) == 0);
  EXPECT(sennit_port_call(service.port, &service.left, &service.left, SENNIT_NEVER) == -EPIPE);
  EXPECT(sennit_port_destroy(service.port) == 0);

  service.port = make_port(shared, sizeof(struct big), sizeof(struct big));
  EXPECT(sennit_fiber_spawn(&servers[0], receive_and_reply, &service, NULL) == 0);
  run_and_join(ask_big, &service);
  EXPECT(sennit_port_close(service.port) == 0);
  EXPECT(sennit_fiber_join(servers[0], SENNIT_NEVER) == 0);
  EXPECT(sennit_port_destroy(service.port) == 0);

  service.port = make_port(shared, sizeof(long), sizeof(long));
  EXPECT(sennit_fiber_spawn(&servers[0], begin_receiving, &service, NULL) == 0);
  run_and_join(begin_calling, &service);
  EXPECT(service.left == 0);
  EXPECT(sennit_port_close(service.port) == 0);
  EXPECT(sennit_fiber_join(servers[0], SENNIT_NEVER) == 0);
  EXPECT(sennit_port_destroy(service.port) == 0);
}

/* Either side gives up. */
static void abandon(void* argument) {
  const bool shared = *(bool*)argument;
  struct service service = {make_port(shared, sizeof(long), sizeof(long)), NULL, 0, 3, 1};
  struct sennit_fiber* client = NULL;
  long reply = 1;
  int result;
  run_and_join(receive_until, &service);
  EXPECT(service.result == -ETIMEDOUT);
  EXPECT(sennit_port_receive(service.port, &service.call, sennit_now() + 1000000) == -ETIMEDOUT);
  run_and_join(call_until, &service);
  EXPECT(service.result == -ETIMEDOUT);
  EXPECT(sennit_port_call(service.port, &reply, &reply, sennit_now() + 1000000) == -ETIMEDOUT);

  do { /* until the call is received before its deadline */
    EXPECT(sennit_fiber_spawn(&client, call_until, &service, NULL) == 0);
    result = sennit_port_receive(service.port, &service.call, sennit_now() + 20000000);
    EXPECT(sennit_fiber_join(client, SENNIT_NEVER) == 0);
  } while (result == -ETIMEDOUT);
  EXPECT(service.result == -ETIMEDOUT && *(long*)sennit_call_request(service.call) == 3);
  EXPECT(sennit_call_reply(service.call, &reply) == -ECANCELED);

  EXPECT(sennit_fiber_spawn(&client, ask_once, &service, NULL) == 0);
  receive_first(&service);
  EXPECT(sennit_call_fail(service.call, 0) == -EINVAL);
  EXPECT(sennit_call_fail(service.call, EPERM) == 0);
  EXPECT(sennit_fiber_join(client, SENNIT_NEVER) == 0);
  EXPECT(service.result == -EPERM);

  EXPECT(sennit_fiber_spawn(&client, ask_once, &service, NULL) == 0);
  receive_first(&service);
  EXPECT(sennit_port_close(service.port) == 0);
  EXPECT(sennit_call_reply_and_receive(&service.call, &reply) == -EPIPE && service.call == NULL);
  EXPECT(sennit_fiber_join(client, SENNIT_NEVER) == 0);
  EXPECT(service.result == 0);
  EXPECT(sennit_port_destroy(service.port) == 0);
}

int ports_of_both_kinds(void) {
  CHECK(capi_run_both(use_ports) == 0);
  return capi_run_both(abandon);
}

static void refuse(void* argument) {
  const bool shared = *(bool*)argument;
  struct sennit_port* port = make_port(shared, 8, 8);
  struct sennit_port* other = make_port(!shared, 8, 8);
  struct sennit_call* call = NULL;
  long number = 0;
  EXPECT(sennit_port_call(NULL, &number, &number, 0) == -EINVAL);
  EXPECT(sennit_port_call(port, NULL, &number, 0) == -EINVAL);
  EXPECT(sennit_port_call(port, &number, NULL, 0) == -EINVAL);
  EXPECT(sennit_port_receive(NULL, &call, 0) == -EINVAL);
  EXPECT(sennit_port_receive(port, NULL, 0) == -EINVAL);
  EXPECT(sennit_port_serve(NULL, square, NULL) == -EINVAL);
  EXPECT(sennit_port_serve(port, NULL, NULL) == -EINVAL);
  EXPECT(sennit_port_close(NULL) == -EINVAL);
  EXPECT(sennit_port_become_calling(NULL, &number, note_result, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_port_become_calling(port, NULL, note_result, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_port_become_calling(port, &number, NULL, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_port_become_calling(other, &number, note_result, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_port_become_receiving(NULL, note_result, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_port_become_receiving(port, NULL, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_port_become_receiving(port, note_result, NULL, 1, 0) == -EINVAL);
  EXPECT(sennit_port_become_receiving(other, note_result, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_call_request(NULL) == NULL);
  EXPECT(sennit_call_reply(NULL, &number) == -EINVAL);
  EXPECT(sennit_call_fail(NULL, 1) == -EINVAL);
  EXPECT(sennit_call_reply_and_receive(NULL, &number) == -EINVAL);
  EXPECT(sennit_call_reply_and_receive(&call, &number) == -EINVAL);
  if (shared)
    EXPECT(sennit_port_call(other, &number, &number, 0) == -EINVAL);
  EXPECT(sennit_port_destroy(port) == 0 && sennit_port_destroy(other) == 0 && sennit_port_destroy(NULL) == 0);
}

int ports_refuse(void) {
  struct sennit_port* port = NULL;
  CHECK(sennit_port_create(NULL, 8, 8) == -EINVAL);
  CHECK(sennit_port_create(&port, 2049, 8) == -EINVAL);
  CHECK(sennit_port_create_shared(&port, 8, 2049) == -EINVAL);
  CHECK(sennit_port_create(&port, 0, 0) == 0);
  CHECK(sennit_port_call(port, NULL, NULL, SENNIT_NEVER) == -EINVAL);
  CHECK(sennit_port_destroy(port) == 0);
  return capi_run_both(refuse);
}

/* A fiber that is unwound leaves no call without an answer. */
static void park_with_call(void* argument) {
  receive_first(argument);
  sennit_self_park();
}

static int park_in_handler(void* argument, const void* request, void* reply) {
  (void)argument, (void)request, (void)reply;
  sennit_self_park();
  return 0;
}

static void serve_parking(void* argument) {
  sennit_port_serve(((struct service*)argument)->port, park_in_handler, NULL);
}

static void call_without_stack(void* argument) {
  struct service* service = argument;
  EXPECT(sennit_port_become_calling(service->port, &service->left, note_result, &service, sizeof service,
                                    SENNIT_NEVER) == 0);
}

/* A port per run, which outlives the runtime. */
struct ports {
  struct service services[2];
  bool shared;
  int count;
};

static void leave_waiting(void* argument) {
  struct ports* ports = argument;
  struct service* service = &ports->services[ports->count++];
  service->port = make_port(ports->shared, sizeof(long), sizeof(long));
  EXPECT(sennit_fiber_spawn(NULL, serve_parking, service, NULL) == 0);
  EXPECT(sennit_fiber_spawn(NULL, ask_once, service, NULL) == 0);
  EXPECT(sennit_fiber_spawn(NULL, ask_once, service, NULL) == 0);
  EXPECT(sennit_fiber_spawn(NULL, call_without_stack, service, NULL) == 0);
  EXPECT(sennit_self_sleep(2000000) == 0);
  EXPECT(sennit_fiber_spawn(NULL, park_with_call, service, NULL) == 0);
  EXPECT(sennit_self_sleep(2000000) == 0);
}

int ports_end_with_the_runtime(void) {
  struct ports ports;
  memset(&ports, 0, sizeof ports);
  CHECK(capi_run(leave_waiting, &ports) == 0);
  CHECK(sennit_port_destroy(ports.services[0].port) == 0);
  ports.shared = true;
  ports.count = 0;
  CHECK(capi_run_parallel(leave_waiting, &ports) == 0);
  CHECK(sennit_port_destroy(ports.services[0].port) == 0);
  CHECK(sennit_port_destroy(ports.services[1].port) == 0);
  return 0;
}
