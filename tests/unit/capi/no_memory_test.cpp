// What C gets where there is no memory. Not under sanitizers, which have operators of their own.
#include "sennit/detail/stack/sanitizer.hpp"

#if !defined(SENNIT_SANITIZED)

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "check.h"

namespace {
bool memory_is_left = true;
}

// Not inlined: gcc would find that new and free do not go together.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* memory = memory_is_left ? std::malloc(size) : nullptr)
    return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return memory_is_left ? std::malloc(size) : nullptr;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

using state = std::array<std::byte, 2048>;

TEST(CWithoutMemory, AYieldComesBack) {
  const auto yields = [](void*) {
    const state mine{};
    ASSERT_EQ(sennit_self_set_yield_continuation([](void*) { FAIL(); }, &mine, sizeof mine), 0);
    memory_is_left = false;
    const int yielded = sennit_self_yield();
    memory_is_left = true;
    EXPECT_EQ(yielded, -ENOMEM);
    EXPECT_EQ(sennit_self_clear_yield_continuation(), 0);
  };
  EXPECT_EQ(capi_run(yields, nullptr), 0);
}

TEST(CWithoutMemory, AFiberDoesNotBlockWithoutAStack) {
  const auto blocks = [](void*) {
    const state mine{};
    memory_is_left = false;
    const int became = sennit_become([](void*) { FAIL(); }, &mine, sizeof mine, 0);
    memory_is_left = true;
    EXPECT_EQ(became, -ENOMEM);
  };
  EXPECT_EQ(capi_run(blocks, nullptr), 0);
}

TEST(CWithoutMemory, ALargeElementIsSent) {
  const auto sends = [](void*) {
    sennit_channel* channel = nullptr;
    ASSERT_EQ(sennit_channel_create(&channel, sizeof(state), 1), 0);
    const state element{};
    memory_is_left = false;
    const int sent = sennit_channel_send(channel, &element);
    memory_is_left = true;
    EXPECT_EQ(sent, 0);
    EXPECT_EQ(sennit_channel_size(channel), 1);
    EXPECT_EQ(sennit_channel_destroy(channel), 0);
  };
  EXPECT_EQ(capi_run(sends, nullptr), 0);
}

// The handle of a stream needs no memory of its own.
TEST(CWithoutMemory, AListenerAcceptsAndSaysWhenItIsCancelled) {
  const auto accepts = [](void*) {
    sennit_tcp_listener* listener = nullptr;
    sennit_tcp_stream* client = nullptr;
    sennit_tcp_stream* accepted = nullptr;
    ASSERT_EQ(sennit_tcp_listener_listen(&listener, "127.0.0.1", 0, 0), 0);
    const auto port = static_cast<std::uint16_t>(sennit_tcp_listener_port(listener));
    ASSERT_EQ(sennit_tcp_stream_connect(&client, "127.0.0.1", port, SENNIT_NEVER), 0);
    memory_is_left = false;
    const int got = sennit_tcp_listener_accept(listener, &accepted, SENNIT_NEVER);
    const int cancelled = sennit_tcp_listener_cancel(listener);
    const int then = sennit_tcp_listener_accept(listener, &accepted, SENNIT_NEVER);
    memory_is_left = true;
    EXPECT_EQ(got, 0);
    EXPECT_EQ(cancelled, 0);
    EXPECT_EQ(then, -ECANCELED);
    sennit_tcp_stream_close(accepted);
    sennit_tcp_stream_close(client);
    sennit_tcp_listener_close(listener);
  };
  EXPECT_EQ(capi_run(accepts, nullptr), 0);
}

void no_result(void*, int) {
  FAIL();
}
void no_value(void*, int, void*) {
  FAIL();
}

// Each comes back, and nothing has happened: the mutex is held, the handle is the caller's.
TEST(CWithoutMemory, NoWaitBeginsWithoutAStack) {
  bool shared = false;
  const auto waits = [](void* argument) {
    const bool is_shared = *static_cast<bool*>(argument);
    sennit_channel* channel = nullptr;
    sennit_mutex* mutex = nullptr;
    sennit_condition* condition = nullptr;
    sennit_semaphore* semaphore = nullptr;
    sennit_fiber* fiber = nullptr;
    ASSERT_EQ((is_shared ? sennit_channel_create_shared : sennit_channel_create)(&channel, 64, 1), 0);
    ASSERT_EQ((is_shared ? sennit_mutex_create_shared : sennit_mutex_create)(&mutex), 0);
    ASSERT_EQ((is_shared ? sennit_condition_create_shared : sennit_condition_create)(&condition), 0);
    ASSERT_EQ((is_shared ? sennit_semaphore_create_shared : sennit_semaphore_create)(&semaphore, 0), 0);
    ASSERT_EQ(sennit_fiber_spawn(&fiber, [](void*) { sennit_self_park(); }, nullptr, nullptr), 0);
    ASSERT_EQ(sennit_mutex_lock(mutex), 0);
    const state mine{};
    for (const std::int64_t deadline : {SENNIT_NEVER, sennit_now() + 1'000'000'000'000}) {
      memory_is_left = false;
      const int results[] = {
          sennit_channel_become_receiving(channel, no_value, &mine, sizeof mine, deadline),
          sennit_channel_become_sending(channel, &mine, no_value, &mine, sizeof mine, deadline),
          sennit_mutex_become_locking(mutex, no_result, &mine, sizeof mine, deadline),
          sennit_semaphore_become_acquiring(semaphore, no_result, &mine, sizeof mine, deadline),
          sennit_condition_become_waiting(condition, mutex, no_result, &mine, sizeof mine, deadline),
          sennit_fiber_become_joining(fiber, no_result, &mine, sizeof mine, deadline)};
      memory_is_left = true;
      for (const int result : results)
        EXPECT_EQ(result, -ENOMEM);
    }
    EXPECT_EQ(sennit_mutex_unlock(mutex), 0);
    EXPECT_EQ(sennit_fiber_unpark(fiber), 0);
    EXPECT_EQ(sennit_fiber_join(fiber, SENNIT_NEVER), 0);
    EXPECT_EQ(sennit_channel_destroy(channel), 0);
    EXPECT_EQ(sennit_mutex_destroy(mutex), 0);
    EXPECT_EQ(sennit_condition_destroy(condition), 0);
    EXPECT_EQ(sennit_semaphore_destroy(semaphore), 0);
  };
  EXPECT_EQ(capi_run(waits, &shared), 0);
  shared = true;
  EXPECT_EQ(capi_run_parallel(waits, &shared), 0);
}

TEST(CWithoutMemory, PortsSelectsAndPoolsReportIt) {
  const auto tries = [](void*) {
    sennit_port* port = nullptr;
    sennit_channel* channel = nullptr;
    sennit_call* call = nullptr;
    sennit_upcall_pool* pool = nullptr;
    sennit_exception_server* server = nullptr;
    ASSERT_EQ(sennit_port_create(&port, 8, 8), 0);
    ASSERT_EQ(sennit_channel_create(&channel, 8, 1), 0);
    state mine{};
    const sennit_case one = {channel, &mine, false, 0};
    const auto serve = [](void*, const void*, void*) { return 0; };
    memory_is_left = false;
    const int results[] = {
        sennit_port_receive(port, &call, 0),
        sennit_port_serve(port, serve, nullptr),
        sennit_port_become_receiving(port, no_value, nullptr, 0, SENNIT_NEVER),
        sennit_port_become_calling(port, &mine, no_value, &mine, sizeof mine, SENNIT_NEVER),
        sennit_select_become(&one, 1, no_value, &mine, sizeof mine, SENNIT_NEVER),
        sennit_upcall_pool_create(&pool, nullptr),
        sennit_exception_server_create(&server),
        sennit_port_create(&port, 8, 8),
        sennit_channel_create(&channel, 8, 1),
    };
    memory_is_left = true;
    for (const int result : results)
      EXPECT_EQ(result, -ENOMEM);
    EXPECT_EQ(sennit_port_destroy(port), 0);
    EXPECT_EQ(sennit_channel_destroy(channel), 0);
  };
  EXPECT_EQ(capi_run(tries, nullptr), 0);
}

// What the C++ counterparts do without memory, C does, too.
TEST(CWithoutMemory, OperationsNeedNone) {
  const auto operates = [](void*) {
    sennit_port* port = nullptr;
    sennit_channel* channel = nullptr;
    sennit_mutex* mutex = nullptr;
    sennit_semaphore* semaphore = nullptr;
    sennit_upcall_pool* pool = nullptr;
    sennit_fiber* server = nullptr;
    ASSERT_EQ(sennit_port_create(&port, 8, 8), 0);
    ASSERT_EQ(sennit_channel_create(&channel, 100, 2), 0);
    ASSERT_EQ(sennit_mutex_create(&mutex), 0);
    ASSERT_EQ(sennit_semaphore_create(&semaphore, 1), 0);
    ASSERT_EQ(sennit_upcall_pool_create(&pool, nullptr), 0);
    const auto serve = [](void* of) {
      const auto add = [](void*, const void* request, void* reply) {
        *static_cast<long*>(reply) = *static_cast<const long*>(request) + 1;
        return 0;
      };
      EXPECT_EQ(sennit_port_serve(static_cast<sennit_port*>(of), add, nullptr), 0);
    };
    ASSERT_EQ(sennit_fiber_spawn(&server, serve, port, nullptr), 0);
    sennit_self_yield();
    std::array<char, 100> element{};
    long reply = 0;
    bool called = false;
    bool* const at = &called;
    memory_is_left = false;
    const long request = 1;
    sennit_case one = {channel, element.data(), true, 1};
    const int results[] = {
        sennit_mutex_lock(mutex),
        sennit_mutex_unlock(mutex),
        sennit_semaphore_acquire(semaphore),
        sennit_semaphore_release(semaphore, 1),
        sennit_channel_send(channel, element.data()),
        sennit_channel_receive(channel, element.data()),
        sennit_select(&one, 1, SENNIT_NEVER),
        sennit_port_call(port, &request, &reply, SENNIT_NEVER),
        sennit_upcall_pool_post(
            pool, [](void* flag) { **static_cast<bool**>(flag) = true; }, &at, sizeof at),
        sennit_self_yield(),
    };
    memory_is_left = true;
    for (const int result : results)
      EXPECT_EQ(result, 0);
    EXPECT_EQ(reply, 2);
    EXPECT_TRUE(called);
    EXPECT_EQ(sennit_port_close(port), 0);
    EXPECT_EQ(sennit_fiber_join(server, SENNIT_NEVER), 0);
    EXPECT_EQ(sennit_upcall_pool_destroy(pool), 0);
    EXPECT_EQ(sennit_port_destroy(port), 0);
    EXPECT_EQ(sennit_channel_destroy(channel), 0);
    EXPECT_EQ(sennit_mutex_destroy(mutex), 0);
    EXPECT_EQ(sennit_semaphore_destroy(semaphore), 0);
  };
  EXPECT_EQ(capi_run(operates, nullptr), 0);
}

struct waited_for {
  sennit_channel* channel = nullptr;
  sennit_mutex* mutex = nullptr;
  sennit_semaphore* semaphore = nullptr;
  int ended = 0;
};
struct small_state {
  waited_for* all;
  void* more;
};
void count_result(void* kept, int result) {
  EXPECT_EQ(result, 0);
  ++static_cast<small_state*>(kept)->all->ended;
}
void count_value(void* kept, int result, void*) {
  count_result(kept, result);
}
void receive_small(void* all) {
  const small_state mine{static_cast<waited_for*>(all), nullptr};
  memory_is_left = false;
  sennit_channel_become_receiving(mine.all->channel, count_value, &mine, sizeof mine, SENNIT_NEVER);
}
void lock_small(void* all) {
  const small_state mine{static_cast<waited_for*>(all), nullptr};
  memory_is_left = false;
  sennit_mutex_become_locking(mine.all->mutex, count_result, &mine, sizeof mine, SENNIT_NEVER);
}
void acquire_small(void* all) {
  const small_state mine{static_cast<waited_for*>(all), nullptr};
  memory_is_left = false;
  sennit_semaphore_become_acquiring(mine.all->semaphore, count_result, &mine, sizeof mine, SENNIT_NEVER);
}

// sennit.h promises this for states of up to 16 bytes.
TEST(CWithoutMemory, SmallWaitsBegin) {
  const auto waits = [](void*) {
    waited_for all;
    ASSERT_EQ(sennit_channel_create(&all.channel, 8, 1), 0);
    ASSERT_EQ(sennit_mutex_create(&all.mutex), 0);
    ASSERT_EQ(sennit_semaphore_create(&all.semaphore, 0), 0);
    ASSERT_EQ(sennit_mutex_lock(all.mutex), 0);
    for (const sennit_function function : {receive_small, lock_small, acquire_small}) {
      ASSERT_EQ(sennit_fiber_spawn(nullptr, function, &all, nullptr), 0);
      sennit_self_yield();
      memory_is_left = true;
    }
    const std::uint64_t element = 1;
    EXPECT_EQ(sennit_channel_send(all.channel, &element), 0);
    EXPECT_EQ(sennit_mutex_unlock(all.mutex), 0);
    EXPECT_EQ(sennit_semaphore_release(all.semaphore, 1), 0);
    sennit_self_yield();
    EXPECT_EQ(all.ended, 3);
    EXPECT_EQ(sennit_mutex_unlock(all.mutex), 0);
    EXPECT_EQ(sennit_channel_destroy(all.channel), 0);
    EXPECT_EQ(sennit_mutex_destroy(all.mutex), 0);
    EXPECT_EQ(sennit_semaphore_destroy(all.semaphore), 0);
  };
  EXPECT_EQ(capi_run(waits, nullptr), 0);
}

}  // namespace

#endif
