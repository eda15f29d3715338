// C++20 coroutines that await futures, and that return them, on several threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "future_support.hpp"
#include "sennit/event.hpp"
#include "sennit/future.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/mutex.hpp"
#include "sennit/runtime.hpp"
#include "sync_fixture.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

class CoroutineFuture : public sync_test {};
INSTANTIATE_TEST_SUITE_P(Workers, CoroutineFuture, every_worker_count);

future<int> add(future<int> first, future<int> second) {
  const int left = co_await first;
  co_return left + co_await std::move(second);
}

TEST_P(CoroutineFuture, AFiberWaitsForACoroutine) {
  rt.run([] {
    promise<int> first;
    promise<int> second;
    future<int> sum = add(first.get_future(), second.get_future());
    fiber one = spawn([&] { first.set_value(1); });
    std::thread other([&] { second.set_value(2); });
    EXPECT_EQ(sum.get(), 3);
    one.join();
    other.join();
  });
}

TEST_P(CoroutineFuture, ACoroutineGoesOnWhereItsPromiseIsFulfilled) {
  promise<void> outside;
  std::thread::id resumed_on;
  future<void> noted = note_thread(outside.get_future(), resumed_on);
  std::thread fulfils([&] {
    outside.set_value();
    EXPECT_EQ(resumed_on, std::this_thread::get_id()) << "and before set_value has returned";
    EXPECT_TRUE(noted.ready());
  });
  fulfils.join();
  noted.get();

  promise<void> inside;
  noted = note_thread(inside.get_future(), resumed_on);
  rt.run([&] { spawn([&] { inside.set_value(); }).join(); });
  noted.get();
  EXPECT_NE(resumed_on, std::this_thread::get_id());
}

TEST_P(CoroutineFuture, AwaitingRacesWithFulfilling) {
  run_all(
      6,
      [&](int) {
        for (int i = 0; i < 100; ++i) {
          promise<int> late;
          promise<int> later;
          future<int> first = late.get_future();
          future<int> second = later.get_future();
          auto give = [late = std::move(late), later = std::move(later), i]() mutable {
            late.set_value(i);
            later.set_value(1);
          };
          if (detail::this_parallel() == nullptr) {
            std::jthread giver(std::move(give));
            EXPECT_EQ(add(std::move(first), std::move(second)).get(), i + 1);
          } else {
            spawn(std::move(give)).detach();
            EXPECT_EQ(add(std::move(first), std::move(second)).get(), i + 1);
          }
        }
      },
      1);
}

// Each awaits the one before it; all end in one set_value.
TEST(FutureCoroutine, AChainThatEndsTakesTheStackOfOne) {
#if defined(__OPTIMIZE__) || defined(__clang__)
  constexpr int length = 100'000;
#else
  constexpr int length = 100;  // gcc jumps only when it optimises
#endif
  promise<int> beginning;
  promise<int> zero;
  zero.set_value(0);
  future<int> end = add(beginning.get_future(), zero.get_future());
  for (int i = 0; i < length; ++i) {
    promise<int> one;
    one.set_value(1);
    end = add(std::move(end), one.get_future());
  }
  beginning.set_value(0);
  EXPECT_EQ(end.get(), length);
}

// A coroutine may block the fiber that it runs in, and hold what others wait for.
future<int> counts(mutex& guard, int& counter, future<void> when) {
  for (int i = 0; i < 10; ++i) {
    const std::lock_guard hold(guard);
    const int before = counter;
    this_fiber::yield();
    counter = before + 1;
  }
  co_await when;
  int counted = 0;
  for (int i = 0; i < 10; ++i) {
    const std::lock_guard hold(guard);
    counted = ++counter;
  }
  co_return counted;
}

TEST_P(CoroutineFuture, CoroutinesBlockTheirFibers) {
  mutex guard;
  int counter = 0;
  rt.run([&] {
    std::vector<fiber> all;
    for (int i = 0; i < 10; ++i)
      all.push_back(spawn([&] {
        promise<void> when;
        future<int> counted = counts(guard, counter, when.get_future());
        fiber gives = spawn([&] { when.set_value(); });
        EXPECT_GE(counted.get(), 20);
        gives.join();
      }));
    for (fiber& each : all)
      each.join();
  });
  EXPECT_EQ(counter, 200);
}

// A coroutine of another library: what it throws comes out of the resume.
struct throwing_task {
  struct promise_type {
    throwing_task get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
};

TEST(FutureCoroutine, OtherCoroutinesAwaitFuturesToo) {
  promise<int> asked;
  int got = 0;
  [](future<int> from, int& to) -> throwing_task { to = co_await from; }(asked.get_future(), got);
  EXPECT_EQ(got, 0);
  asked.set_value(5);
  EXPECT_EQ(got, 5);
}

// ... and futures' coroutines await something other than a future.
struct resumed_by_thread {
  std::thread& on;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> who) {
    std::thread& resumer = on;  // we are gone as soon as it runs
    resumer = std::thread(who);
  }
  int await_resume() const noexcept { return 7; }
};

TEST_P(CoroutineFuture, AFiberWaitsForWhateverCanBeAwaited) {
  rt.run([] {
    std::thread resumer;
    EXPECT_EQ([](std::thread& on) -> future<int> { co_return co_await resumed_by_thread{on}; }(resumer).get(),
              7);
    resumer.join();
  });
}

// ---- The runtime's end

// A coroutine that blocks a fiber ends when the fiber's runtime ends, and so does the fiber, at its next
// wait.
TEST(FutureCoroutine, ACoroutineThatBlocksAFiberEndsWithIt) {
  for (bool resumed : {false, true}) {
    event never_set;
    std::atomic<bool> waits{false};
    std::atomic<bool> left{false};
    promise<void> when;
    future<void> asked = when.get_future();
    future<int> result;
    if (!resumed)
      when.set_value();
    const auto blocks = [](future<void> first, event& happens, std::atomic<bool>& about) -> future<int> {
      co_await first;
      about = true;
      happens.wait();
      co_return 1;
    };
    if (resumed)
      result = blocks(std::move(asked), never_set, waits);
    {
      runtime rt({.workers = 1});
      rt.post([&] {
        struct at_end {
          std::atomic<bool>& of;
          ~at_end() { of = true; }
        } note{left};
        if (resumed)
          when.set_value();
        else
          result = blocks(std::move(asked), never_set, waits);
        this_fiber::yield();
        ADD_FAILURE() << "it was not told";
      });
      while (!waits)
        std::this_thread::yield();
    }
    EXPECT_TRUE(left);
    expect_future_error(std::future_errc::broken_promise, [&] { result.get(); });
  }
}

}  // namespace
}  // namespace sennit
