/* Upcalls, asynchronous transfers and exception servers, in runtimes of both kinds. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

/* ---- Exception servers. */

struct faulting {
  struct sennit_exception_server* server;
  volatile int* page;
  int verdict;
  int count;
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

static void serve_faults(bool shared, sennit_function serves) {
  const struct sennit_fiber_options options = {.name = "faulty"};
  struct faulting faulting = {NULL, NULL, 0, 0};
  struct sennit_fiber* server = NULL;
  struct sennit_fiber* faulty = NULL;
  faulting.page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(faulting.page != MAP_FAILED);
  EXPECT((shared ? sennit_exception_server_create_shared(&faulting.server)
                 : sennit_exception_server_create(&faulting.server)) == 0);
  EXPECT(sennit_fiber_spawn(&server, serves, &faulting, NULL) == 0);
  EXPECT(sennit_self_yield() == 0);
  if (sennit_serves_faults()) {
    EXPECT(sennit_fiber_spawn(&faulty, fault, &faulting, &options) == 0);
    EXPECT(sennit_fiber_join(faulty, SENNIT_NEVER) == 0);
    EXPECT(faulting.count == 2);
  }
  EXPECT(sennit_exception_server_close(faulting.server) == 0);
  EXPECT(sennit_fiber_join(server, SENNIT_NEVER) == 0);
  sennit_exception_server_destroy(faulting.server);
  munmap((void*)faulting.page, 4096);
}

static void use_exception_servers(void* argument) {
  struct sennit_exception_server* other = NULL;
  const bool shared = *(bool*)argument;
  serve_faults(shared, serve);
  serve_faults(shared, become_serving);
  EXPECT((shared ? sennit_exception_server_create(&other) : sennit_exception_server_create_shared(&other)) ==
         0);
  EXPECT(sennit_exception_server_serve(other, open_or_kill, NULL) == -EINVAL);
  EXPECT(sennit_exception_server_become_serving(other, open_or_kill, NULL) == -EINVAL);
  EXPECT(sennit_exception_server_guard(other, serve, NULL) == -EINVAL);
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
