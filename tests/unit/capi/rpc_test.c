/* Upcalls, asynchronous transfers and exception servers, in runtimes of both kinds. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, mkstemp */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

static atomic_long sum;
static struct sennit_upcall_pool* pool;

static void add(void* state) {
  atomic_fetch_add(&sum, *(long*)state);
}

/* Waits without a stack, and returns to the pool. */
static void add_and_rest(void* state) {
  add(state);
  EXPECT(sennit_upcall_pool_become_idle(pool) == 0);
}

static void add_later(void* state) {
  EXPECT(sennit_become(add_and_rest, state, sizeof(long), 0) == 0);
}

static void post_again(const long* number, sennit_function function) {
  int result;
  while ((result = sennit_upcall_pool_post(pool, function, number, sizeof *number)) == -EAGAIN)
    sennit_self_yield();
  EXPECT(result == 0);
}

static void use_upcalls(void* argument) {
  const struct sennit_upcall_options options = {.fibers = 2, .events = 8};
  const char large[25] = "";
  long number;
  (void)argument;
  atomic_store(&sum, 0);
  EXPECT(sennit_upcall_pool_create(&pool, &options) == 0);
  for (number = 1; number <= 100; ++number) {
    post_again(&number, add);
    post_again(&number, add_later);
  }
  while (atomic_load(&sum) != 10100)
    sennit_self_yield();
  EXPECT(sennit_upcall_pool_post(pool, add, large, sizeof large) == -EINVAL);
  EXPECT(sennit_upcall_pool_post(pool, add, NULL, 1) == -EINVAL);
  EXPECT(sennit_upcall_pool_post(pool, NULL, NULL, 0) == -EINVAL);
  EXPECT(sennit_upcall_pool_post(NULL, add, NULL, 0) == -EINVAL);
  EXPECT(sennit_upcall_pool_close(NULL) == -EINVAL);
  EXPECT(sennit_upcall_pool_become_idle(NULL) == -EINVAL);
  EXPECT(sennit_upcall_pool_create(NULL, NULL) == -EINVAL);
  EXPECT(sennit_upcall_pool_close(pool) == 0);
  EXPECT(sennit_upcall_pool_post(pool, add, &number, sizeof number) == -EAGAIN);
  EXPECT(sennit_upcall_pool_destroy(pool) == 0);
  EXPECT(sennit_upcall_pool_destroy(NULL) == 0);
}

int upcalls_of_both_kinds(void) {
  CHECK(sennit_upcall_pool_create(&pool, NULL) == -EINVAL);
  return capi_run_both(use_upcalls);
}

/* ---- Asynchronous transfers. */

struct reading {
  struct sennit_async_transfer transfer;
  struct sennit_fiber* waits;
  int result;
};

static void wake(struct sennit_async_transfer* transfer, int result) {
  struct reading* reading = (struct reading*)transfer;
  reading->result = result;
  EXPECT(sennit_fiber_unpark(reading->waits) == 0);
}

static void use_transfers(void* argument) {
  struct sennit_tcp_stream* ends[2];
  struct reading in = {{wake, 0}, sennit_self(), 1};
  struct reading out = {{wake, 0}, sennit_self(), 1};
  char bytes[100] = "";
  int i;
  (void)argument;
  EXPECT(capi_make_pair(ends) == 0);
  EXPECT(sennit_upcall_pool_create(&pool, NULL) == 0);
  for (i = 0; i < 2; ++i) {
    struct sennit_upcall_pool* const of = i == 0 ? NULL : pool;
    in.result = out.result = 1;
    EXPECT(sennit_tcp_stream_async_read(ends[0], of, bytes, sizeof bytes, &in.transfer) == 0);
    EXPECT(sennit_self_park_until(sennit_now() + 1000000) == -ETIMEDOUT);
    EXPECT(sennit_tcp_stream_async_write_all(ends[1], of, "hello", 5, &out.transfer) == 0);
    EXPECT(sennit_self_park() == 0);
    while (in.result == 1 || out.result == 1)
      sennit_self_sleep(100000);
    EXPECT(in.result == 0 && in.transfer.size == 5 && memcmp(bytes, "hello", 5) == 0);
    EXPECT(out.result == 0 && out.transfer.size == 5);
    sennit_self_park_until(0);
  }
  in.result = 1;
  EXPECT(sennit_tcp_stream_async_read(ends[0], NULL, bytes, sizeof bytes, &in.transfer) == 0);
  EXPECT(sennit_self_park_until(sennit_now() + 1000000) == -ETIMEDOUT);
  sennit_tcp_stream_close(ends[1]);
  EXPECT(sennit_self_park() == 0);
  EXPECT(in.result == 0 && in.transfer.size == 0);
  EXPECT(sennit_tcp_stream_async_read(NULL, NULL, bytes, 1, &in.transfer) == -EINVAL);
  EXPECT(sennit_tcp_stream_async_read(ends[0], NULL, NULL, 1, &in.transfer) == -EINVAL);
  EXPECT(sennit_tcp_stream_async_write_all(ends[0], NULL, bytes, 1, NULL) == -EINVAL);
  in.transfer.done = NULL;
  EXPECT(sennit_tcp_stream_async_write_all(ends[0], NULL, bytes, 1, &in.transfer) == -EINVAL);
  sennit_tcp_stream_close(ends[0]);
  EXPECT(sennit_upcall_pool_destroy(pool) == 0);
}

int transfers_of_both_kinds(void) {
  return capi_run_both(use_transfers);
}

/* ---- Asynchronous accepts and connects, and what ends them. */

struct opening {
  struct sennit_async_stream operation;
  atomic_int result;
};

static void note_result(struct sennit_async_stream* operation, int result) {
  atomic_store(&((struct opening*)operation)->result, result);
}

static int result_of(struct opening* opening) {
  int result;
  while ((result = atomic_load(&opening->result)) == 1)
    sennit_self_sleep(100000);
  return result;
}

static void talk(struct sennit_tcp_stream* from, struct sennit_tcp_stream* to) {
  char bytes[8];
  EXPECT(sennit_tcp_stream_write_all(from, "hello", 5, NULL, SENNIT_NEVER) == 0);
  EXPECT(sennit_tcp_stream_read(to, bytes, sizeof bytes, SENNIT_NEVER) == 5);
}

static void open_streams(struct sennit_upcall_pool* of) {
  struct sennit_tcp_listener* listener = NULL;
  struct opening accepted = {{note_result, NULL}, 1};
  struct opening connected = {{note_result, NULL}, 1};
  uint16_t port;
  EXPECT(sennit_tcp_listener_listen(&listener, "127.0.0.1", 0, 0) == 0);
  port = (uint16_t)sennit_tcp_listener_port(listener);
  EXPECT(sennit_tcp_listener_async_accept(listener, of, &accepted.operation) == 0);
  EXPECT(sennit_tcp_stream_async_connect(of, "127.0.0.1", port, SENNIT_NEVER, &connected.operation) == 0);
  EXPECT(result_of(&accepted) == 0 && result_of(&connected) == 0);
  talk(connected.operation.stream, accepted.operation.stream);
  sennit_tcp_stream_close(accepted.operation.stream);
  sennit_tcp_stream_close(connected.operation.stream);
  accepted.result = connected.result = 1;
  EXPECT(sennit_tcp_listener_async_accept(listener, of, &accepted.operation) == 0);
  sennit_self_sleep(1000000);
  EXPECT(sennit_tcp_listener_cancel(listener) == 0);
  EXPECT(result_of(&accepted) == -ECANCELED && accepted.operation.stream == NULL);
  accepted.result = 1;
  EXPECT(sennit_tcp_listener_async_accept(listener, of, &accepted.operation) == 0);
  EXPECT(result_of(&accepted) == -ECANCELED);
  sennit_tcp_listener_close(listener);
  EXPECT(sennit_tcp_stream_async_connect(of, "127.0.0.1", port, SENNIT_NEVER, &connected.operation) == 0);
  EXPECT(result_of(&connected) == -ECONNREFUSED && connected.operation.stream == NULL);
}

static void use_async_streams(void* argument) {
  (void)argument;
  EXPECT(sennit_upcall_pool_create(&pool, NULL) == 0);
  open_streams(pool);
  open_streams(NULL);
  EXPECT(sennit_upcall_pool_destroy(pool) == 0);
}

int accepts_and_connects_of_both_kinds(void) {
  return capi_run_both(use_async_streams);
}

static void read_until_cancelled(void* argument) {
  struct sennit_tcp_stream* const stream = argument;
  char byte;
  EXPECT(sennit_tcp_stream_read(stream, &byte, 1, SENNIT_NEVER) == -ECANCELED);
  EXPECT(sennit_tcp_stream_read(stream, &byte, 1, SENNIT_NEVER) == -ECANCELED);
}

static void cancel_streams(void* argument) {
  struct reading in = {{wake, 0}, sennit_self(), 1};
  struct sennit_tcp_stream* ends[2];
  struct sennit_fiber* reader = NULL;
  char byte = 0;
  int i;
  (void)argument;
  for (i = 0; i < 20; ++i) {
    EXPECT(capi_make_pair(ends) == 0);
    EXPECT(sennit_fiber_spawn(&reader, read_until_cancelled, ends[0], NULL) == 0);
    if (i % 2 == 0)
      sennit_self_yield();
    EXPECT(sennit_tcp_stream_cancel(ends[0]) == 0 && sennit_tcp_stream_cancel(ends[0]) == 0);
    EXPECT(sennit_fiber_join(reader, SENNIT_NEVER) == 0);
    in.result = 1;
    EXPECT(sennit_tcp_stream_async_read(ends[1], NULL, &byte, 1, &in.transfer) == 0);
    EXPECT(sennit_self_park() == 0 && in.result == 0 && in.transfer.size == 0);
    in.result = 1;
    EXPECT(sennit_tcp_stream_cancel(ends[1]) == 0);
    EXPECT(sennit_tcp_stream_async_read(ends[1], NULL, &byte, 1, &in.transfer) == 0);
    EXPECT(sennit_self_park() == 0 && in.result == -ECANCELED);
    sennit_tcp_stream_close(ends[0]);
    sennit_tcp_stream_close(ends[1]);
  }
}

int streams_are_cancelled(void) {
  return capi_run_both(cancel_streams);
}

/* ---- Asynchronous reads and writes of files. */

static void use_async_files(void* argument) {
  char path[] = "/tmp/sennit-c-XXXXXX";
  struct sennit_file* file = NULL;
  struct reading transfer = {{wake, 0}, sennit_self(), 1};
  char bytes[8] = "";
  int i;
  (void)argument;
  close(mkstemp(path));
  EXPECT(sennit_file_open(&file, path, O_RDWR, 0) == 0);
  EXPECT(unlink(path) == 0);
  EXPECT(sennit_upcall_pool_create(&pool, NULL) == 0);
  for (i = 0; i < 2; ++i) {
    struct sennit_upcall_pool* const of = i == 0 ? NULL : pool;
    EXPECT(sennit_file_async_write_all_at(file, of, 3, "hello", 5, &transfer.transfer) == 0);
    EXPECT(sennit_self_park() == 0 && transfer.result == 0 && transfer.transfer.size == 5);
    EXPECT(sennit_file_async_read_at(file, of, 4, bytes, sizeof bytes, &transfer.transfer) == 0);
    EXPECT(sennit_self_park() == 0 && transfer.result == 0 && transfer.transfer.size == 4);
    EXPECT(memcmp(bytes, "ello", 4) == 0);
    EXPECT(sennit_file_async_read_at(file, of, UINT64_MAX, bytes, 1, &transfer.transfer) == 0);
    EXPECT(sennit_self_park() == 0 && transfer.result == -EINVAL);
  }
  EXPECT(sennit_upcall_pool_destroy(pool) == 0);
  EXPECT(sennit_file_close(file) == 0);
}

int async_files_of_both_kinds(void) {
  return capi_run_both(use_async_files);
}

/* ---- Misuse of pools and of asynchronous operations. */

static atomic_int refusals;

static void destroy_own_pool(void* state) {
  (void)state;
  if (sennit_upcall_pool_destroy(pool) == -EINVAL)
    atomic_fetch_add(&refusals, 1);
}

static void return_to_other_pool(void* state) {
  if (sennit_upcall_pool_become_idle(*(struct sennit_upcall_pool**)state) == -EINVAL)
    atomic_fetch_add(&refusals, 1);
}

static void misuse_pools(void* argument) {
  struct sennit_upcall_options options = {.fibers = 1000000000};
  struct sennit_upcall_pool* other = NULL;
  (void)argument;
  atomic_store(&refusals, 0);
  EXPECT(sennit_upcall_pool_create(&other, &options) == -EINVAL);
  options.fibers = 1;
  options.events = SIZE_MAX;
  EXPECT(sennit_upcall_pool_create(&other, &options) == -EINVAL);
  EXPECT(other == NULL);
  EXPECT(sennit_upcall_pool_create(&pool, NULL) == 0 && sennit_upcall_pool_create(&other, NULL) == 0);
  EXPECT(sennit_upcall_pool_become_idle(pool) == -EINVAL);
  EXPECT(sennit_upcall_pool_post(pool, destroy_own_pool, NULL, 0) == 0);
  EXPECT(sennit_upcall_pool_post(pool, return_to_other_pool, &other, sizeof other) == 0);
  while (atomic_load(&refusals) != 2)
    sennit_self_yield();
  EXPECT(sennit_upcall_pool_destroy(pool) == 0 && sennit_upcall_pool_destroy(other) == 0);
}

static void nothing(void* argument) {
  (void)argument;
}

static void make_a_pool_that_is_too_large(void* argument) {
  const struct sennit_upcall_options options = {.fibers = 5};
  struct sennit_upcall_pool* none = NULL;
  struct sennit_fiber* fiber = NULL;
  (void)argument;
  EXPECT(sennit_upcall_pool_create(&none, &options) == -EAGAIN && none == NULL);
  EXPECT(sennit_fiber_spawn(&fiber, nothing, NULL, NULL) == 0); /* none of them is left */
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
}

int pools_refuse(void) {
  const struct sennit_runtime_options options[] = {{.max_fibers = 4}, {.max_fibers = 4, .workers = 2}};
  struct sennit_runtime* runtime = NULL;
  int i;
  for (i = 0; i < 2; ++i) {
    CHECK(sennit_runtime_create(&runtime, &options[i]) == 0);
    CHECK(sennit_runtime_run(runtime, make_a_pool_that_is_too_large, NULL) == 0);
    CHECK(sennit_runtime_destroy(runtime) == 0);
    CHECK(capi_failed_line == 0);
  }
  return capi_run_both(misuse_pools);
}

static void misuse_async_operations(void* argument) {
  struct sennit_tcp_listener* listener = NULL;
  struct sennit_file* file = NULL;
  struct sennit_async_stream stream = {note_result, NULL};
  struct sennit_async_stream stream_without_done = {NULL, NULL};
  struct sennit_async_transfer transfer = {wake, 0};
  char byte = 0;
  (void)argument;
  EXPECT(sennit_tcp_listener_listen(&listener, "127.0.0.1", 0, 0) == 0);
  EXPECT(sennit_file_open(&file, "/dev/null", O_RDWR, 0) == 0);
  EXPECT(sennit_tcp_listener_async_accept(NULL, NULL, &stream) == -EINVAL);
  EXPECT(sennit_tcp_listener_async_accept(listener, NULL, NULL) == -EINVAL);
  EXPECT(sennit_tcp_listener_async_accept(listener, NULL, &stream_without_done) == -EINVAL);
  EXPECT(sennit_tcp_stream_async_connect(NULL, NULL, 1, SENNIT_NEVER, &stream) == -EINVAL);
  EXPECT(sennit_tcp_stream_async_connect(NULL, "::1", 1, SENNIT_NEVER, NULL) == -EINVAL);
  EXPECT(sennit_file_async_read_at(NULL, NULL, 0, &byte, 1, &transfer) == -EINVAL);
  EXPECT(sennit_file_async_read_at(file, NULL, 0, NULL, 1, &transfer) == -EINVAL);
  EXPECT(sennit_file_async_write_all_at(file, NULL, 0, NULL, 1, &transfer) == -EINVAL);
  EXPECT(sennit_file_async_write_all_at(file, NULL, 0, &byte, 1, NULL) == -EINVAL);
  EXPECT(sennit_tcp_listener_cancel(NULL) == -EINVAL && sennit_tcp_stream_cancel(NULL) == -EINVAL);
  EXPECT(sennit_file_close(file) == 0);
  sennit_tcp_listener_close(listener);
}

int async_operations_refuse(void) {
  struct sennit_async_stream stream = {note_result, NULL};
  CHECK(sennit_tcp_stream_async_connect(NULL, "::1", 1, SENNIT_NEVER, &stream) == -EINVAL);
  return capi_run_both(misuse_async_operations);
}

/* ---- Exception servers. */

struct faulting {
  struct sennit_exception_server* server;
  volatile int* page;
  int verdict;
  int count;
  int begun;
};

static int open_or_kill(void* argument, struct sennit_fault* fault) {
  struct faulting* faulting = argument;
  ++faulting->count;
  if (fault->kind == SENNIT_FAULT_MEMORY && fault->address == (void*)faulting->page &&
      strcmp(fault->fiber, "faulty") == 0 && fault->registers != NULL &&
      faulting->verdict == SENNIT_VERDICT_RESUME)
    EXPECT(mprotect((void*)faulting->page, 4096, PROT_READ | PROT_WRITE) == 0);
  return faulting->verdict;
}

static void write_page(void* argument) {
  *((struct faulting*)argument)->page = 7;
}

static void fault(void* argument) {
  struct faulting* faulting = argument;
  faulting->verdict = SENNIT_VERDICT_RESUME;
  EXPECT(sennit_exception_server_guard(faulting->server, write_page, faulting) == 0);
  EXPECT(*faulting->page == 7);
  EXPECT(mprotect((void*)faulting->page, 4096, PROT_NONE) == 0);
  faulting->verdict = SENNIT_VERDICT_KILL;
  EXPECT(sennit_exception_server_guard(faulting->server, write_page, faulting) == -ECANCELED);
}

static void serve(void* argument) {
  struct faulting* faulting = argument;
  EXPECT(sennit_exception_server_serve(faulting->server, open_or_kill, faulting) == 0);
}

static void become_serving(void* argument) {
  struct faulting* faulting = argument;
  EXPECT(sennit_exception_server_become_serving(faulting->server, open_or_kill, faulting) == 0);
}

/* A page that is written when it is there. */
static int open_without_stack(void* argument, struct sennit_fault* fault) {
  struct faulting* faulting = argument;
  ++faulting->count;
  EXPECT(fault->stackless && fault->address == (void*)faulting->page);
  EXPECT(mprotect((void*)faulting->page, 4096, PROT_READ | PROT_WRITE) == 0);
  return SENNIT_VERDICT_RESUME;
}
static void become_serving_without_stacks(void* argument) {
  struct faulting* faulting = argument;
  EXPECT(sennit_exception_server_become_serving(faulting->server, open_without_stack, faulting) == 0);
}
static void write_again(void* state) {
  struct faulting* faulting = *(struct faulting**)state;
  ++faulting->begun;
  *faulting->page = 7;
  EXPECT(faulting->begun == 2);
}
static void begin_to_write(void* argument) {
  EXPECT(sennit_exception_server_guard_runtime(((struct faulting*)argument)->server) == 0);
  EXPECT(sennit_become_restartable(write_again, &argument, sizeof argument) == 0);
}
/* A fiber that runs `faults` has so many faults, which a fiber that runs `serves` answers. */
static void serve_faults(bool shared, sennit_function serves, sennit_function faults, int count) {
  const struct sennit_fiber_options options = {.name = "faulty"};
  struct faulting faulting = {NULL, NULL, 0, 0, 0};
  struct sennit_fiber* server = NULL;
  struct sennit_fiber* faulty = NULL;
  faulting.page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(faulting.page != MAP_FAILED);
  EXPECT((shared ? sennit_exception_server_create_shared(&faulting.server)
                 : sennit_exception_server_create(&faulting.server)) == 0);
  EXPECT(sennit_fiber_spawn(&server, serves, &faulting, NULL) == 0);
  EXPECT(sennit_self_yield() == 0);
  if (sennit_serves_faults()) {
    EXPECT(sennit_fiber_spawn(&faulty, faults, &faulting, &options) == 0);
    EXPECT(sennit_fiber_join(faulty, SENNIT_NEVER) == 0);
    EXPECT(faulting.count == count);
  }
  EXPECT(sennit_exception_server_guard_runtime(NULL) == 0);
  EXPECT(sennit_exception_server_close(faulting.server) == 0);
  EXPECT(sennit_fiber_join(server, SENNIT_NEVER) == 0);
  sennit_exception_server_destroy(faulting.server);
  munmap((void*)faulting.page, 4096);
}

static void use_exception_servers(void* argument) {
  struct sennit_exception_server* other = NULL;
  const bool shared = *(bool*)argument;
  serve_faults(shared, serve, fault, 2);
  serve_faults(shared, become_serving, fault, 2);
  serve_faults(shared, become_serving_without_stacks, begin_to_write, 1);
  EXPECT((shared ? sennit_exception_server_create(&other) : sennit_exception_server_create_shared(&other)) ==
         0);
  EXPECT(sennit_exception_server_serve(other, open_or_kill, NULL) == -EINVAL);
  EXPECT(sennit_exception_server_become_serving(other, open_or_kill, NULL) == -EINVAL);
  EXPECT(sennit_exception_server_guard(other, serve, NULL) == -EINVAL);
  EXPECT(sennit_exception_server_guard_runtime(other) == -EINVAL);
  EXPECT(sennit_become_restartable(NULL, NULL, 0) == -EINVAL);
  EXPECT(sennit_become_restartable(serve, NULL, 1) == -EINVAL);
  sennit_exception_server_destroy(other);
  EXPECT(sennit_exception_server_serve(NULL, open_or_kill, NULL) == -EINVAL);
  EXPECT(sennit_exception_server_become_serving(NULL, open_or_kill, NULL) == -EINVAL);
  EXPECT(sennit_exception_server_guard(NULL, serve, NULL) == -EINVAL);
  EXPECT(sennit_exception_server_close(NULL) == -EINVAL);
  EXPECT(sennit_exception_server_create(NULL) == -EINVAL);
  sennit_exception_server_destroy(NULL);
}

int exception_servers_of_both_kinds(void) {
  return capi_run_both(use_exception_servers);
}
