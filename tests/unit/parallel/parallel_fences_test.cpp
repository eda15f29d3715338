// A parallel runtime where membarrier is refused: with full fences instead, it does the same.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "sennit/channel.hpp"
#include "sennit/mutex.hpp"
#include "sennit/runtime.hpp"
#include "support/busy_workers.hpp"
#include "support/child.hpp"
#include "support/seccomp.hpp"

#if !defined(SUPPORT_TSAN) && !defined(SUPPORT_EMULATED)  // it and qemu-user start no thread in a child

namespace {

using namespace sennit;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

int fibonacci(int n) {
  if (n < 2)
    return n;
  int first = 0;
  fiber half = spawn_now([&] { first = fibonacci(n - 1); });
  const int second = fibonacci(n - 2);
  half.join();
  return first + second;
}

void compute(runtime& rt) {
  EXPECT_EQ(rt.run([] { return fibonacci(20); }), 6765);
}

void contend(runtime& rt) {
  mutex lock;
  long count = 0;
  std::vector<fiber> all;
  for (unsigned i = 0; i < 8; ++i)
    all.push_back(rt.spawn(
        [&] {
          for (int round = 0; round < 2000; ++round) {
            const std::lock_guard hold(lock);
            const long seen = count;
            if (round % 16 == 0)
              this_fiber::yield();
            count = seen + 1;
          }
        },
        {.near = i}));
  for (fiber& each : all)
    each.join();
  EXPECT_EQ(count, 8 * 2000);
}

void sleep(runtime& rt) {
  std::atomic<int> early{0};
  std::vector<fiber> all;
  for (int i = 0; i < 50; ++i)
    all.push_back(rt.spawn([&, i] {
      const auto due = steady::now() + i * 200us;
      this_fiber::sleep_until(due);
      early += steady::now() < due ? 1 : 0;
    }));
  for (fiber& each : all)
    each.join();
  EXPECT_EQ(early, 0);
}

void send(runtime& rt) {
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{8}}) {
    channel<int> items(capacity);
    long sum = 0;
    fiber receiver = rt.spawn(
        [&] {
          for (const int each : items)
            sum += each;
        },
        {.near = 1});
    rt.run([&] {
      for (int i = 1; i <= 2000; ++i)
        items.send(i);
      items.close();
    });
    receiver.join();
    EXPECT_EQ(sum, 2000L * 2001 / 2) << capacity;
  }
}

// A worker is woken out of its sleep, again and again: here a fence that is missing would leave it there,
// until the watcher looks.
void wake_from_sleep(runtime& rt) {
  std::atomic<int> begun{0};
  for (int i = 1; i <= 200; ++i) {
    rt.post([&] { ++begun; });
    support::spin_until([&] { return begun == i; });
    if (i % 20 == 0)
      std::this_thread::sleep_for(2ms);
  }
}

// Nothing becomes biased, and a mutex that was to be is like others.
void lock_biased(runtime& rt) {
  mutex guard({.bias = true});
  int count = 0;
  std::vector<fiber> all;
  for (unsigned i = 0; i < 4; ++i)
    all.push_back(rt.spawn(
        [&] {
          EXPECT_EQ(detail::this_worker()->bias_number, 0);
          for (int n = 0; n < 1000; ++n) {
            const std::lock_guard hold(guard);
            ++count;
          }
        },
        {.pinned = i % 2}));
  for (fiber& each : all)
    each.join();
  EXPECT_EQ(count, 4000);
}

void expect_full_fences() {
  runtime rt({.workers = 2});
  EXPECT_FALSE(detail::native_memory::prepare());
  rt.run([] {
    const detail::parallel_worker& here = detail::running_parallel();
    EXPECT_FALSE(here.direct || here.plain);  // whoever gives way asks a scheduler step
  });
  compute(rt);
  contend(rt);
  sleep(rt);
  send(rt);
  wake_from_sleep(rt);
  lock_biased(rt);
}

TEST(ParallelFences, AreFullWhereMembarrierIsRefused) {
  if (support::is_new_program())
    return expect_full_fences();
  if (!support::has_seccomp())
    GTEST_SKIP() << "no seccomp here";
  for (const unsigned error : {EPERM, ENOSYS}) {
    SCOPED_TRACE(error);
    support::in_new_program([error] { ASSERT_TRUE(support::refuse_call(SYS_membarrier, error)); });
  }
}

}  // namespace

#endif
