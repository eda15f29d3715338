// A hint to a sleeping worker, from any thread: the worker wakes, and the fiber begins there.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "sennit/runtime.hpp"
#include "support/busy_workers.hpp"

namespace {

using namespace sennit;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

class Hint : public testing::Test {
protected:
  using function = std::function<void()>;

  // Worker 0 dispatches no fiber meanwhile, and worker 1 must not look by itself: only a wake gets it.
  void expect_to_begin_at_the_sleeper(const std::function<fiber(const function&)>& spawn_near_1) {
    const auto gives_hints = [&] {
      std::optional<support::held_worker> sleeper(std::in_place, rt, 1);
      const support::unwatched nobody_looks;
      sleeper.reset();
      detail::parallel_runtime& of = detail::running_parallel().runtime;
      for (int i = 0; i < 50; ++i) {
        support::spin_until([&] { return of.asleep.sleeps(1); });
        if (i % 2 == 0)
          std::this_thread::sleep_for(200us);  // it has said that it will; now it does
        std::atomic<unsigned> began{nowhere};
        fiber hinted = spawn_near_1([&] { began = this_fiber::worker(); });
        const auto end = steady::now() + 10s;
        support::spin_until([&] { return began != nowhere || steady::now() > end; });
        EXPECT_EQ(began, 1u);
        if (began == nowhere) {
          of.workers[1]->driver->wake();
          i = 50;
        }
        hinted.join();
      }
    };
    rt.spawn(gives_hints, {.pinned = 0}).join();
  }

  static constexpr unsigned nowhere = ~0u;
  runtime rt{{.workers = 2}};
};

TEST_F(Hint, OfAFiberWakesASleeper) {
  expect_to_begin_at_the_sleeper([](const function& f) { return spawn(f, {.near = 1}); });
}

TEST_F(Hint, OfAFiberThroughItsRuntimeWakesASleeper) {
  expect_to_begin_at_the_sleeper([&](const function& f) { return rt.spawn(f, {.near = 1}); });
}

TEST_F(Hint, OfAThreadWakesASleeper) {
  expect_to_begin_at_the_sleeper([&](const function& f) {
    fiber hinted;
    std::jthread([&] { hinted = rt.spawn(f, {.near = 1}); }).join();
    return hinted;
  });
}

TEST_F(Hint, OfAnotherRuntimesFiberWakesASleeper) {
  runtime other({.workers = 1});
  expect_to_begin_at_the_sleeper([&](const function& f) {
    std::optional<fiber> hinted;
    std::jthread([&] { hinted = other.run([&] { return rt.spawn(f, {.near = 1}); }); }).join();
    return std::move(*hinted);
  });
}

// All workers sleep, and none watches any more.
TEST_F(Hint, WakesARuntimeThatRests) {
  for (const unsigned where : {0u, 1u, 0u}) {
    std::this_thread::sleep_for(300ms);
    rt.spawn([] {}, {.near = where}).join();
  }
}

}  // namespace
