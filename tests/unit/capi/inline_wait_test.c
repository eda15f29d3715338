/* Waits that are inline in C: with each kind of waiter at the other end, and with each kind of end. */
#include <errno.h>

#include "check.h"

enum { most = 8 };

struct world {
  bool shared;
  struct sennit_channel* channel; /* unbuffered, of 8 bytes */
  struct sennit_channel* other;
  struct sennit_mutex* mutex;
  struct sennit_condition* condition;
  struct sennit_port* port;
  struct sennit_fiber* fiber;
  uint64_t sum;
  int order[most];
  int count;
  int waiting;
  int turn;
};

static void open_world(struct world* w, bool shared) {
  const struct world empty = {0};
  *w = empty;
  w->shared = shared;
  EXPECT((shared ? sennit_channel_create_shared : sennit_channel_create)(&w->channel, 8, 0) == 0);
  EXPECT((shared ? sennit_channel_create_shared : sennit_channel_create)(&w->other, 8, 0) == 0);
  EXPECT((shared ? sennit_mutex_create_shared : sennit_mutex_create)(&w->mutex) == 0);
  EXPECT((shared ? sennit_condition_create_shared : sennit_condition_create)(&w->condition) == 0);
  EXPECT((shared ? sennit_port_create_shared : sennit_port_create)(&w->port, 8, 8) == 0);
}

/* Also: no user is left. */
static void close_world(struct world* w) {
  EXPECT(sennit_channel_destroy(w->channel) == 0 && sennit_channel_destroy(w->other) == 0);
  EXPECT(sennit_mutex_destroy(w->mutex) == 0 && sennit_condition_destroy(w->condition) == 0);
  EXPECT(sennit_port_destroy(w->port) == 0);
}

static void pause_a_while(void) {
  EXPECT(sennit_self_sleep(1000000) == 0);
}

static struct sennit_fiber* start(sennit_function function, void* argument) {
  struct sennit_fiber* started = NULL;
  EXPECT(sennit_fiber_spawn(&started, function, argument, NULL) == 0);
  return started;
}

/* ---- Receivers, and senders, of one element. */

static void receive_one(void* argument) {
  struct world* w = (struct world*)argument;
  uint64_t value = 0;
  EXPECT(sennit_channel_receive(w->channel, &value) == 0);
  w->sum += value;
}
static void receive_until(void* argument) {
  struct world* w = (struct world*)argument;
  uint64_t value = 0;
  EXPECT(sennit_channel_receive_until(w->channel, &value, sennit_now() + 10000000000) == 0);
  w->sum += value;
}
static void select_one(void* argument) {
  struct world* w = (struct world*)argument;
  uint64_t value = 0;
  struct sennit_case cases[2] = {{w->other, &value, false, 0}, {w->channel, &value, false, 0}};
  EXPECT(sennit_select(cases, 2, SENNIT_NEVER) == 1);
  w->sum += value;
}
static void take(void* state, int result, void* value) {
  EXPECT(result == 0);
  (*(struct world**)state)->sum += *(uint64_t*)value;
}
static void receive_without_stack(void* argument) {
  sennit_channel_become_receiving(((struct world*)argument)->channel, take, &argument, sizeof argument,
                                  SENNIT_NEVER);
}
static const sennit_function receivers[] = {receive_one, receive_until, select_one, receive_without_stack};

static void send_one(void* argument) {
  const uint64_t value = 5;
  EXPECT(sennit_channel_send(((struct world*)argument)->channel, &value) == 0);
}
static void send_until(void* argument) {
  const uint64_t value = 5;
  EXPECT(sennit_channel_send_until(((struct world*)argument)->channel, &value, sennit_now() + 10000000000) ==
         0);
}
static void select_to_send(void* argument) {
  struct world* w = (struct world*)argument;
  uint64_t value = 5;
  struct sennit_case cases[2] = {{w->channel, &value, true, 0}, {w->other, &value, true, 0}};
  EXPECT(sennit_select(cases, 2, SENNIT_NEVER) == 0);
}
static void sent(void* state, int result, void* value) {
  (void)state;
  EXPECT(result == 0 && value == NULL);
}
static void send_without_stack(void* argument) {
  const uint64_t value = 5;
  sennit_channel_become_sending(((struct world*)argument)->channel, &value, sent, NULL, 0, SENNIT_NEVER);
}
static const sennit_function senders[] = {send_one, send_until, select_to_send, send_without_stack};

static void meet_each(void* argument) {
  struct world w;
  size_t i;
  open_world(&w, *(bool*)argument);
  for (i = 0; i < sizeof receivers / sizeof *receivers; ++i) {
    const uint64_t value = 10 + i;
    struct sennit_fiber* fiber = start(receivers[i], &w);
    w.sum = 0;
    pause_a_while();
    EXPECT(sennit_channel_send(w.channel, &value) == 0);
    EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
    EXPECT(w.sum == value);
  }
  for (i = 0; i < sizeof senders / sizeof *senders; ++i) {
    struct sennit_fiber* fiber = start(senders[i], &w);
    uint64_t value = 0;
    pause_a_while();
    EXPECT(sennit_channel_receive(w.channel, &value) == 0 && value == 5);
    EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  }
  close_world(&w);
}

int inline_sends_meet_each_kind_of_waiter(void) {
  return capi_run_both(meet_each);
}

/* ---- Closed, while fibers wait. */

static void find_closed(void* argument) {
  struct world* w = (struct world*)argument;
  uint64_t value = 0;
  EXPECT(sennit_channel_receive(w->channel, &value) == -EPIPE);
  EXPECT(sennit_channel_send(w->channel, &value) == -EPIPE);
  EXPECT(sennit_port_call(w->port, &value, &value, SENNIT_NEVER) == -EPIPE);
}
static void close_all(void* argument) {
  struct world w;
  struct sennit_fiber* fibers[3];
  uint64_t value = 0;
  int i;
  open_world(&w, *(bool*)argument);
  for (i = 0; i < 3; ++i)
    fibers[i] = start(find_closed, &w);
  pause_a_while();
  EXPECT(w.shared || sennit_channel_destroy(w.channel) == -EBUSY);
  EXPECT(sennit_channel_close(w.channel) == 0);
  pause_a_while(); /* they call */
  EXPECT(w.shared || sennit_port_destroy(w.port) == -EBUSY);
  EXPECT(sennit_port_close(w.port) == 0);
  for (i = 0; i < 3; ++i)
    EXPECT(sennit_fiber_join(fibers[i], SENNIT_NEVER) == 0);
  EXPECT(sennit_port_call(w.port, &value, &value, SENNIT_NEVER) == -EPIPE);
  EXPECT(sennit_port_call(w.port, NULL, &value, SENNIT_NEVER) == -EINVAL);
  EXPECT(sennit_port_call(NULL, &value, &value, SENNIT_NEVER) == -EINVAL);
  close_world(&w);
}

int inline_waits_end_when_closed(void) {
  return capi_run_both(close_all);
}

/* ---- The runtime ends, while fibers wait. The world outlives it. */

static void wait_to_receive(void* argument) {
  uint64_t value;
  sennit_channel_receive(((struct world*)argument)->channel, &value);
  EXPECT(false);
}
static void wait_to_send(void* argument) {
  const uint64_t value = 1;
  sennit_channel_send(((struct world*)argument)->other, &value);
  EXPECT(false);
}
static void wait_to_call(void* argument) {
  uint64_t value = 1;
  sennit_port_call(((struct world*)argument)->port, &value, &value, SENNIT_NEVER);
  EXPECT(false);
}
static void wait_to_join(void* argument) {
  (void)argument;
  sennit_fiber_join(start(wait_to_receive, argument), SENNIT_NEVER);
  EXPECT(false);
}
static void leave_waiters(void* argument) {
  static const sennit_function waits[] = {wait_to_receive, wait_to_send, wait_to_call, wait_to_join};
  size_t i;
  for (i = 0; i < sizeof waits / sizeof *waits; ++i)
    EXPECT(sennit_fiber_spawn(NULL, waits[i], argument, NULL) == 0);
  pause_a_while();
}

int inline_waits_end_with_the_runtime(void) {
  struct world w;
  int line;
  capi_failed_line = 0;
  open_world(&w, false);
  line = capi_run(leave_waiters, &w);
  close_world(&w);
  CHECK(line == 0 && capi_failed_line == 0);
  open_world(&w, true);
  line = capi_run_parallel(leave_waiters, &w);
  close_world(&w);
  return line != 0 ? line : capi_failed_line;
}

/* ---- errno is kept, whatever the others do to it. */

static void spoil(void* argument) {
  struct world* w = (struct world*)argument;
  uint64_t value = 3;
  errno = EDOM;
  EXPECT(sennit_channel_send(w->channel, &value) == 0);
  errno = EDOM;
  EXPECT(sennit_mutex_lock(w->mutex) == 0);
  w->turn = 1;
  EXPECT(sennit_condition_notify_one(w->condition) == 0);
  EXPECT(sennit_mutex_unlock(w->mutex) == 0);
  errno = EDOM;
}
static int errno_of_caller(void) __attribute__((noinline));
static int errno_of_caller(void) {
  return errno;
}
static void keep_errno(void* argument) {
  struct world w;
  uint64_t value = 0;
  struct sennit_fiber* fiber;
  open_world(&w, *(bool*)argument);
  fiber = start(spoil, &w);
  errno = ERANGE;
  EXPECT(sennit_channel_receive(w.channel, &value) == 0 && value == 3);
  EXPECT(w.shared || errno_of_caller() == ERANGE);
  EXPECT(sennit_mutex_lock(w.mutex) == 0);
  while (w.turn == 0)
    EXPECT(sennit_condition_wait(w.condition, w.mutex) == 0);
  EXPECT(sennit_mutex_unlock(w.mutex) == 0);
  EXPECT(w.shared || errno_of_caller() == ERANGE);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(w.shared || errno_of_caller() == ERANGE);
  close_world(&w);
}

int inline_waits_keep_errno(void) {
  return capi_run_both(keep_errno);
}

/* ---- Conditions. */

struct waiter {
  struct world* w;
  int number;
};
static void wait_for_turn(void* argument) {
  struct waiter* self = (struct waiter*)argument;
  struct world* w = self->w;
  EXPECT(sennit_mutex_lock(w->mutex) == 0);
  ++w->waiting;
  EXPECT(sennit_condition_wait(w->condition, w->mutex) == 0);
  EXPECT(sennit_mutex_trylock(w->mutex) == -EAGAIN); /* it is locked again */
  w->order[w->count++] = self->number;
  EXPECT(sennit_mutex_unlock(w->mutex) == 0);
}
static void wait_for_waiters(struct world* w, int wanted) {
  for (int found = 0; found != wanted;) {
    EXPECT(sennit_self_sleep(100000) == 0 && sennit_mutex_lock(w->mutex) == 0);
    found = w->waiting;
    EXPECT(sennit_mutex_unlock(w->mutex) == 0);
  }
}
static void notify_in_order(void* argument) {
  struct world w;
  struct waiter waiters[4];
  struct sennit_fiber* fibers[4];
  int i;
  open_world(&w, *(bool*)argument);
  EXPECT(sennit_condition_notify_one(w.condition) == 0); /* without a waiter */
  EXPECT(sennit_condition_notify_one(NULL) == -EINVAL);
  for (i = 0; i < 4; ++i) {
    waiters[i].w = &w;
    waiters[i].number = i;
    fibers[i] = start(wait_for_turn, &waiters[i]);
    wait_for_waiters(&w, i + 1);
  }
  EXPECT(w.shared || (sennit_condition_destroy(w.condition) == -EBUSY));
  /* The woken ones find the mutex locked, and wait for it. */
  EXPECT(sennit_mutex_lock(w.mutex) == 0);
  for (i = 0; i < 2; ++i)
    EXPECT(sennit_condition_notify_one(w.condition) == 0);
  pause_a_while();
  EXPECT(w.count == 0);
  EXPECT(sennit_mutex_unlock(w.mutex) == 0);
  for (i = 0; i < 2; ++i)
    EXPECT(sennit_fiber_join(fibers[i], SENNIT_NEVER) == 0);
  for (i = 2; i < 4; ++i) {
    EXPECT(sennit_condition_notify_one(w.condition) == 0);
    EXPECT(sennit_fiber_join(fibers[i], SENNIT_NEVER) == 0);
  }
  EXPECT(w.order[0] + w.order[1] == 1); /* the one that was woken last may run first */
  EXPECT(w.order[2] == 2 && w.order[3] == 3);
  EXPECT(sennit_condition_wait(w.condition, w.mutex) == -EINVAL); /* not locked */
  close_world(&w);
}

int inline_conditions_wake_in_order(void) {
  return capi_run_both(notify_in_order);
}

/* ---- Joins. */

static void join_itself(void* argument) {
  (void)argument;
  EXPECT(sennit_fiber_join(sennit_self(), SENNIT_NEVER) == -EINVAL);
}
static void do_nothing(void* argument) {
  (void)argument;
}
static void join_second(void* argument) {
  EXPECT(sennit_fiber_join(((struct world*)argument)->fiber, SENNIT_NEVER) == -EINVAL);
}
static void join_all(void* argument) {
  struct world w;
  struct sennit_fiber* fiber;
  (void)argument;
  open_world(&w, false);
  fiber = start(join_itself, NULL);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == -EINVAL);
  EXPECT(sennit_fiber_join(NULL, SENNIT_NEVER) == -EINVAL);
  fiber = start(do_nothing, NULL); /* has ended */
  pause_a_while();
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  fiber = start(capi_throw_no_space, NULL); /* fails while it is joined, and before */
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == -ENOSPC);
  fiber = start(capi_throw_no_space, NULL);
  pause_a_while();
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == -ENOSPC);
  w.fiber = start(receive_one, &w);
  fiber = start(join_second, &w); /* runs when the first join has begun */
  EXPECT(sennit_fiber_spawn(NULL, send_one, &w, NULL) == 0);
  EXPECT(sennit_fiber_join(w.fiber, SENNIT_NEVER) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  close_world(&w);
}

int inline_joins_give_the_handle_back(void) {
  return capi_run(join_all, NULL);
}

/* ---- Workers that steal from each other. */

enum { yielding_fibers = 48, yields = 3000, crossing_fibers = 6, crossings = 4000 };

static void yield_often(void* argument) {
  int i;
  for (i = 0; i < yields; ++i)
    EXPECT(sennit_self_yield() == 0);
  __atomic_fetch_add((int*)argument, 1, __ATOMIC_RELAXED);
}
static void yield_all(void* argument) {
  struct sennit_fiber* fibers[yielding_fibers];
  int ended = 0;
  int i;
  (void)argument;
  for (i = 0; i < yielding_fibers; ++i)
    fibers[i] = start(yield_often, &ended);
  for (i = 0; i < yielding_fibers; ++i)
    EXPECT(sennit_fiber_join(fibers[i], SENNIT_NEVER) == 0);
  EXPECT(ended == yielding_fibers);
}

int inline_yields_go_round(void) {
  return capi_run_parallel(yield_all, NULL);
}

struct crossing {
  struct sennit_channel* channel;
  uint64_t sum;
};
static void send_many(void* argument) {
  uint64_t i;
  for (i = 1; i <= crossings; ++i)
    EXPECT(sennit_channel_send(((struct crossing*)argument)->channel, &i) == 0);
}
static void receive_many(void* argument) {
  struct crossing* of = (struct crossing*)argument;
  uint64_t value = 0;
  uint64_t sum = 0;
  while (sennit_channel_receive(of->channel, &value) == 0)
    sum += value;
  __atomic_fetch_add(&of->sum, sum, __ATOMIC_RELAXED);
}
static void cross(size_t capacity) {
  struct crossing of = {NULL, 0};
  struct sennit_fiber* senders_of[crossing_fibers];
  struct sennit_fiber* receivers_of[crossing_fibers];
  int i;
  EXPECT(sennit_channel_create_shared(&of.channel, 8, capacity) == 0);
  for (i = 0; i < crossing_fibers; ++i) {
    senders_of[i] = start(send_many, &of);
    receivers_of[i] = start(receive_many, &of);
  }
  for (i = 0; i < crossing_fibers; ++i)
    EXPECT(sennit_fiber_join(senders_of[i], SENNIT_NEVER) == 0);
  EXPECT(sennit_channel_close(of.channel) == 0);
  for (i = 0; i < crossing_fibers; ++i)
    EXPECT(sennit_fiber_join(receivers_of[i], SENNIT_NEVER) == 0);
  EXPECT(of.sum == (uint64_t)crossing_fibers * crossings * (crossings + 1) / 2);
  EXPECT(sennit_channel_destroy(of.channel) == 0);
}
static void cross_all(void* argument) {
  (void)argument;
  cross(0);
  cross(1);
  cross(16);
}

int inline_buffers_lose_nothing_between_workers(void) {
  return capi_run_parallel(cross_all, NULL);
}
