/* Misuse that every function reports: null pointers, and blocking outside of fibers. */
#include "check.h"

static void nothing(void* argument) {
  (void)argument;
}

static uintptr_t no_coroutine(struct sennit_coroutine* self, void* argument, uintptr_t first) {
  (void)self;
  (void)argument;
  return first;
}

#define REFUSED(call) EXPECT((call) == -EINVAL)

static void pass_null(void* argument) {
  const int64_t soon = sennit_now();
  char byte = 0;
  char** addresses = NULL;
  const int signals[1] = {0};
  struct sennit_runtime* runtime = NULL;
  struct sennit_mutex* mutex = NULL;
  struct sennit_condition* condition = NULL;
  struct sennit_channel* channel = NULL;
  struct sennit_coroutine* coroutine = NULL;
  struct sennit_tcp_stream* stream = NULL;
  struct sennit_tcp_listener* listener = NULL;
  struct sennit_signal_set* set = NULL;
  (void)argument;

  REFUSED(sennit_runtime_create(NULL, NULL));
  REFUSED(sennit_runtime_run(NULL, nothing, NULL));
  REFUSED(sennit_runtime_run_once(NULL, soon));
  REFUSED(sennit_runtime_descriptor(NULL));
  REFUSED(sennit_runtime_spawn(NULL, NULL, nothing, NULL, NULL));
  REFUSED(sennit_runtime_post(NULL, nothing, NULL));
  REFUSED(sennit_runtime_size(NULL));
  EXPECT(runtime == NULL);

  REFUSED(sennit_fiber_spawn(NULL, NULL, NULL, NULL));
  REFUSED(sennit_fiber_join(NULL, soon));
  REFUSED(sennit_fiber_unpark(NULL));
  sennit_fiber_detach(NULL);
  EXPECT(sennit_fiber_id(NULL) == 0);
  EXPECT(sennit_fiber_name(NULL)[0] == 0);
  REFUSED(sennit_self_set_name(NULL));
  REFUSED(sennit_become(NULL, NULL, 0, soon));
  REFUSED(sennit_become(nothing, NULL, 1, soon));
  REFUSED(sennit_self_set_yield_continuation(NULL, NULL, 0));
  REFUSED(sennit_self_set_yield_continuation(nothing, NULL, 1));
  REFUSED(sennit_stack_usages(NULL, 1));

  REFUSED(sennit_mutex_create(NULL));
  REFUSED(sennit_mutex_lock(NULL));
  REFUSED(sennit_mutex_trylock(NULL));
  REFUSED(sennit_mutex_lock_until(NULL, soon));
  REFUSED(sennit_mutex_unlock(NULL));
  EXPECT(sennit_mutex_destroy(NULL) == 0);

  EXPECT(sennit_condition_create(&condition) == 0 && sennit_mutex_create(&mutex) == 0);
  REFUSED(sennit_condition_create(NULL));
  REFUSED(sennit_condition_wait(NULL, mutex));
  REFUSED(sennit_condition_wait(condition, NULL));
  REFUSED(sennit_condition_wait(condition, mutex));
  REFUSED(sennit_condition_wait_until(NULL, mutex, soon));
  REFUSED(sennit_condition_notify_one(NULL));
  REFUSED(sennit_condition_notify_all(NULL));
  EXPECT(sennit_condition_destroy(NULL) == 0 && sennit_condition_destroy(condition) == 0);
  EXPECT(sennit_mutex_destroy(mutex) == 0);

  EXPECT(sennit_channel_create(&channel, 1, 1) == 0);
  REFUSED(sennit_channel_create(NULL, 1, 1));
  REFUSED(sennit_channel_create(&channel, 0, 1));
  REFUSED(sennit_channel_send(NULL, &byte));
  REFUSED(sennit_channel_send(channel, NULL));
  REFUSED(sennit_channel_send_until(NULL, &byte, soon));
  REFUSED(sennit_channel_receive(NULL, &byte));
  REFUSED(sennit_channel_receive(channel, NULL));
  REFUSED(sennit_channel_receive_until(NULL, &byte, soon));
  REFUSED(sennit_channel_trysend(NULL, &byte));
  REFUSED(sennit_channel_trysend(channel, NULL));
  REFUSED(sennit_channel_tryreceive(NULL, &byte));
  REFUSED(sennit_channel_tryreceive(channel, NULL));
  REFUSED(sennit_channel_close(NULL));
  REFUSED(sennit_channel_size(NULL));
  EXPECT(sennit_channel_destroy(NULL) == 0 && sennit_channel_destroy(channel) == 0);

  REFUSED(sennit_coroutine_create(NULL, no_coroutine, NULL, 0));
  REFUSED(sennit_coroutine_create(&coroutine, NULL, NULL, 0));
  REFUSED(sennit_coroutine_resume(NULL, 0, NULL));
  EXPECT(sennit_coroutine_destroy(NULL) == 0);
  EXPECT(sennit_coroutine_done(NULL));

  REFUSED(sennit_tcp_stream_connect(NULL, "127.0.0.1", 1, soon));
  REFUSED(sennit_tcp_stream_connect(&stream, NULL, 1, soon));
  REFUSED(sennit_tcp_stream_adopt(NULL, -1));
  REFUSED(sennit_tcp_stream_read(NULL, &byte, 1, soon));
  REFUSED(sennit_tcp_stream_write(NULL, &byte, 1, soon));
  REFUSED(sennit_tcp_stream_write_all(NULL, &byte, 1, NULL, soon));
  REFUSED(sennit_tcp_stream_become_reading(NULL, nothing, NULL, 0, soon));
  REFUSED(sennit_tcp_stream_become_writing(NULL, nothing, NULL, 0, soon));
  REFUSED(sennit_tcp_stream_shutdown(NULL));
  REFUSED(sennit_tcp_stream_descriptor(NULL));
  sennit_tcp_stream_close(NULL);
  REFUSED(sennit_tcp_listener_listen(NULL, "127.0.0.1", 0, 0));
  REFUSED(sennit_tcp_listener_listen(&listener, NULL, 0, 0));
  REFUSED(sennit_tcp_listener_accept(NULL, &stream, soon));
  REFUSED(sennit_tcp_listener_become_accepting(NULL, nothing, NULL, 0, soon));
  EXPECT(sennit_tcp_listener_refused(NULL) == 0);
  REFUSED(sennit_tcp_listener_port(NULL));
  REFUSED(sennit_tcp_listener_descriptor(NULL));
  sennit_tcp_listener_close(NULL);

  REFUSED(sennit_signal_set_create(NULL, signals, 1));
  REFUSED(sennit_signal_set_create(&set, NULL, 1));
  REFUSED(sennit_signal_set_wait(NULL, soon));
  sennit_signal_set_destroy(NULL);
  REFUSED(sennit_readiness_create(NULL, 0));
  REFUSED(sennit_readiness_wait_readable(NULL, soon));
  REFUSED(sennit_readiness_wait_writable(NULL, soon));
  REFUSED(sennit_readiness_become_reading(NULL, nothing, NULL, 0, soon));
  REFUSED(sennit_readiness_become_writing(NULL, nothing, NULL, 0, soon));
  sennit_readiness_destroy(NULL);

  REFUSED(sennit_offload(NULL, NULL));
  REFUSED(sennit_offload_set_limit(0));
  REFUSED(sennit_file_open(NULL, "/", 0, 0));
  REFUSED(sennit_file_read(NULL, &byte, 1));
  REFUSED(sennit_file_read_at(NULL, 0, &byte, 1));
  REFUSED(sennit_file_write_all(NULL, &byte, 1, NULL));
  REFUSED(sennit_file_write_all_at(NULL, 0, &byte, 1, NULL));
  REFUSED(sennit_file_size(NULL, NULL));
  REFUSED(sennit_file_sync(NULL));
  EXPECT(sennit_file_close(NULL) == 0);
  REFUSED(sennit_host_look_up(NULL, &addresses, soon));
  REFUSED(sennit_host_look_up("localhost", NULL, soon));
}

int null_pointers_are_refused(void) {
  return capi_run(pass_null, NULL);
}

static void make_condition(void* argument) {
  EXPECT(sennit_condition_create((struct sennit_condition**)argument) == 0);
}

int blocking_outside_of_fibers_is_refused(void) {
  struct sennit_mutex* mutex = NULL;
  struct sennit_condition* condition = NULL;
  struct sennit_channel* channel = NULL;
  struct sennit_readiness* readiness = NULL;
  const int64_t soon = sennit_now();
  char byte = 0;
  CHECK(capi_run(make_condition, &condition) == 0);
  CHECK(sennit_mutex_create(&mutex) == 0 && sennit_channel_create(&channel, 1, 0) == 0);
  CHECK(sennit_mutex_lock(mutex) == 0);
  CHECK(sennit_mutex_lock(mutex) == -EINVAL);
  CHECK(sennit_mutex_lock_until(mutex, soon) == -EINVAL);
  CHECK(sennit_condition_wait(condition, mutex) == -EINVAL);
  CHECK(sennit_condition_wait_until(condition, mutex, soon) == -EINVAL);
  CHECK(sennit_channel_send(channel, &byte) == -EINVAL);
  CHECK(sennit_channel_send_until(channel, &byte, soon) == -EINVAL);
  CHECK(sennit_channel_receive(channel, &byte) == -EINVAL);
  CHECK(sennit_channel_receive_until(channel, &byte, soon) == -EINVAL);
  CHECK(sennit_self_yield() == -EINVAL);
  CHECK(sennit_self_sleep(1) == -EINVAL);
  CHECK(sennit_self_sleep_until(soon) == -EINVAL);
  CHECK(sennit_self_park() == -EINVAL);
  CHECK(sennit_self_park_until(soon) == -EINVAL);
  CHECK(sennit_become(nothing, NULL, 0, soon) == -EINVAL);
  CHECK(sennit_self_set_yield_continuation(nothing, NULL, 0) == -EINVAL);
  CHECK(sennit_self_clear_yield_continuation() == -EINVAL);
  CHECK(sennit_become_restartable(nothing, NULL, 0) == -EINVAL);
  CHECK(sennit_exception_server_guard_runtime(NULL) == -EINVAL);
  CHECK(sennit_self_set_name("x") == -EINVAL);
  CHECK(sennit_self() == NULL);
  CHECK(sennit_fiber_spawn(NULL, nothing, NULL, NULL) == -EINVAL);
  CHECK(sennit_readiness_create(&readiness, 0) == 0);
  CHECK(sennit_readiness_wait_readable(readiness, soon) == -EINVAL);
  CHECK(sennit_readiness_wait_writable(readiness, soon) == -EINVAL);
  sennit_readiness_destroy(readiness);
  CHECK(sennit_mutex_unlock(mutex) == 0);
  CHECK(sennit_mutex_destroy(mutex) == 0 && sennit_condition_destroy(condition) == 0);
  CHECK(sennit_channel_destroy(channel) == 0);
  return 0;
}

static void give_back_twice(void* argument) {
  struct sennit_fiber* fiber = NULL;
  (void)argument;
  EXPECT(sennit_fiber_spawn(&fiber, nothing, NULL, NULL) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == -EINVAL);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == -EINVAL);
  EXPECT(sennit_fiber_join(sennit_self(), SENNIT_NEVER) == -EINVAL);
}

int second_joins_are_refused(void) {
  return capi_run(give_back_twice, NULL);
}
