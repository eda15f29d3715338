// Futures and promises of fibers on several workers and of OS threads.
#include "sennit/future.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdlib>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "future_support.hpp"
#include "sennit/event.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/mutex.hpp"
#include "sennit/runtime.hpp"
#include "sync_fixture.hpp"

#if !defined(SENNIT_SANITIZED)  // sanitizers have allocators of their own

namespace {

// Allocations of this thread that are still to succeed; none fails while it is negative.
thread_local int allocations_left = -1;
thread_local int allocations = 0;

}  // namespace

// Not inlined: gcc would find that new and free do not go together.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (allocations_left == 0)
    throw std::bad_alloc();
  if (allocations_left > 0)
    --allocations_left;
  ++allocations;
  if (void* memory = std::malloc(size))
    return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

#endif

namespace sennit {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

class ParallelFuture : public sync_test {};
INSTANTIATE_TEST_SUITE_P(Workers, ParallelFuture, every_worker_count);

// ---- Values and errors, on one thread

TEST(Future, HandsOverWhatItIsGiven) {
  promise<std::unique_ptr<int>> movable;
  future<std::unique_ptr<int>> from_movable = movable.get_future();
  EXPECT_TRUE(from_movable.valid());
  EXPECT_FALSE(from_movable.ready());
  EXPECT_FALSE(from_movable.wait_for(1ms));
  movable.set_value(std::make_unique<int>(1));
  EXPECT_TRUE(from_movable.ready());
  EXPECT_TRUE(from_movable.wait_until(steady::time_point::min()));
  EXPECT_EQ(*from_movable.get(), 1);
  EXPECT_FALSE(from_movable.valid());

  int referred = 2;
  promise<int&> reference;
  reference.set_value(referred);
  EXPECT_EQ(&reference.get_future().get(), &referred);

  promise<void> nothing;
  nothing.set_value();
  nothing.get_future().get();

  promise<std::string> braced;
  braced.set_value({'a', 'b'});
  EXPECT_EQ(braced.get_future().get(), "ab");

  promise<std::exception_ptr> error;
  error.set_value(nullptr);
  EXPECT_EQ(error.get_future().get(), nullptr);
}

TEST(Future, RethrowsWhatItIsGiven) {
  promise<int> fails;
  future<int> from = fails.get_future();
  fails.set_exception(std::make_exception_ptr(std::runtime_error("told")));
  from.wait();
  try {
    from.get();
    ADD_FAILURE() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "told");
  }
  EXPECT_FALSE(from.valid());
}

TEST(Future, HasTheErrorsOfStd) {
  promise<int> twice;
  future<int> once = twice.get_future();
  expect_future_error(std::future_errc::future_already_retrieved, [&] { (void)twice.get_future(); });
  twice.set_value(1);
  expect_future_error(std::future_errc::promise_already_satisfied, [&] { twice.set_value(2); });
  expect_future_error(std::future_errc::promise_already_satisfied,
                      [&] { twice.set_exception(std::make_exception_ptr(2)); });
  EXPECT_EQ(once.get(), 1);
  expect_future_error(std::future_errc::no_state, [&] { once.get(); });
  expect_future_error(std::future_errc::no_state, [&] { once.wait(); });
  expect_future_error(std::future_errc::no_state, [&] { (void)once.ready(); });
  expect_future_error(std::future_errc::no_state, [] { (void)future<void>().wait_for(1ms); });

  promise<int> moved = std::move(twice);
  expect_future_error(std::future_errc::no_state, [&] { twice.set_value(3); });
  expect_future_error(std::future_errc::no_state, [&] { (void)twice.get_future(); });
}

TEST(Future, BrokenPromisesAreErrors) {
  future<int> left;
  {
    promise<int> broken;
    left = broken.get_future();
  }
  EXPECT_TRUE(left.ready());
  expect_future_error(std::future_errc::broken_promise, [&] { left.get(); });

  promise<void> replaced;
  future<void> of_replaced = replaced.get_future();
  replaced = promise<void>();
  expect_future_error(std::future_errc::broken_promise, [&] { of_replaced.get(); });
  future<void> of_new = replaced.get_future();
  replaced.set_value();
  of_new.get();
}

struct counted {
  explicit counted(int at) : fails_at(at) { ++alive; }
  counted(const counted& from) : fails_at(from.fails_at) {
    if (fails_at == 1)
      throw std::runtime_error("copy");
    ++alive;
  }
  counted(counted&& from) noexcept : fails_at(from.fails_at) { ++alive; }
  ~counted() { --alive; }
  int fails_at;
  static inline std::atomic<int> alive{0};
};

TEST(Future, AValueThatCannotBeCopiedLeavesThePromiseAsItWas) {
  {
    const counted fails(1);
    promise<counted> asked;
    future<counted> from = asked.get_future();
    EXPECT_THROW(asked.set_value(fails), std::runtime_error);
    EXPECT_FALSE(from.ready());
    asked.set_value(counted(0));
    EXPECT_EQ(from.get().fails_at, 0);
  }
  {
    promise<counted> unasked;
    unasked.set_value(counted(0));
    promise<counted> given_up;
    (void)given_up.get_future();
    given_up.set_value(counted(0));
  }
  EXPECT_EQ(counted::alive, 0);
}

// ---- Fibers and threads

TEST_P(ParallelFuture, GoFromFibersAndThreadsToFibersAndThreads) {
  constexpr int pairs = 20;
  for (int round = 0; round < 20; ++round) {
    std::vector<promise<int>> promises(pairs);
    std::vector<future<int>> futures;
    for (auto& each : promises)
      futures.push_back(each.get_future());
    std::atomic<long> sum{0};
    const auto give = [&](int i) {
      promise<int> mine = std::move(promises[i]);
      mine.set_value(i);
    };
    const auto take = [&](int i) { sum += std::move(futures[i]).get(); };
    std::vector<std::thread> threads;
    rt.run([&] {
      std::vector<fiber> fibers;
      for (int i = 0; i < pairs; ++i) {
        if (i % 4 == 3)
          threads.emplace_back(take, i);
        else
          fibers.push_back(spawn([&, i] { take(i); }));
        if (i % 4 == 2)
          threads.emplace_back(give, i);
        else
          fibers.push_back(spawn([&, i] { give(i); }));
      }
      for (fiber& each : fibers)
        each.join();
    });
    for (std::thread& each : threads)
      each.join();
    EXPECT_EQ(sum, pairs * (pairs - 1) / 2);
  }
}

TEST_P(ParallelFuture, ErrorsGoFromFiberToFiber) {
  rt.run([] {
    promise<int> fails;
    promise<int> broken;
    future<int> first = fails.get_future();
    future<int> second = broken.get_future();
    fiber giver = spawn([fails = std::move(fails), broken = std::move(broken)]() mutable {
      try {
        throw std::out_of_range("far");
      } catch (...) {
        fails.set_exception(std::current_exception());
      }
    });
    EXPECT_THROW(first.get(), std::out_of_range);
    giver.join();
    expect_future_error(std::future_errc::broken_promise, [&] { second.get(); });
  });
}

TEST_P(ParallelFuture, OneOfManyFulfils) {
  for (int round = 0; round < 50; ++round) {
    promise<int> contended;
    future<int> result = contended.get_future();
    std::atomic<int> winner{-1};
    std::atomic<int> refused{0};
    run_all(
        6,
        [&](int me) {
          try {
            contended.set_value(me);
            winner = me;
          } catch (const std::future_error& error) {
            EXPECT_EQ(error.code(), std::future_errc::promise_already_satisfied);
            ++refused;
          }
        },
        1);
    EXPECT_EQ(result.get(), winner);
    EXPECT_EQ(refused, 6);
  }
}

TEST_P(ParallelFuture, DeadlinesRaceWithValues) {
  run_all(
      4,
      [&](int me) {
        for (int i = 0; i < 100; ++i) {
          promise<int> late;
          future<int> result = late.get_future();
          std::thread outside;
          std::optional<fiber> inside;
          const auto give = [&late, i] { late.set_value(i); };
          if (detail::this_parallel() == nullptr)
            outside = std::thread(give);
          else
            inside = spawn(give);
          while (!result.wait_for(std::chrono::microseconds((me * 7 + i) % 23))) {
          }
          EXPECT_EQ(result.get(), i);
          if (inside)
            inside->join();
          else
            outside.join();
        }
      },
      1);
}

// ---- Memory

#if !defined(SENNIT_SANITIZED)
future<void> note_thread(future<void> when, std::thread::id& resumed_on) {
  co_await when;
  resumed_on = std::this_thread::get_id();
}

TEST(Future, OneAllocationIsMade) {
  allocations = 0;
  {
    promise<int> kept;
    future<int> from = kept.get_future();
    kept.set_value(1);
    from.get();
  }
  EXPECT_EQ(allocations, 1);
  allocations_left = 0;
  EXPECT_THROW(promise<int>(), std::bad_alloc);
  allocations_left = -1;
}

TEST(Future, NoMemoryIsAnErrorOfCoroutinesToo) {
  for (int possible : {0, 1}) {
    promise<void> when;
    future<void> asked = when.get_future();
    bool failed = false;
    std::thread::id unused;
    allocations_left = possible;
    try {
      (void)note_thread(std::move(asked), unused);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allocations_left = -1;
    EXPECT_TRUE(failed) << possible;
  }
}
#endif

// ---- The runtime's end

TEST(FutureEnd, ARuntimesEndTakesWaitersOut) {
  for (unsigned workers : {1u, 2u}) {
    std::atomic<int> waiting{0};
    std::atomic<int> left{0};
    promise<int> kept;
    promise<int> kept_too;
    future<int> result = kept.get_future();
    future<int> result_too = kept_too.get_future();
    {
      runtime rt({.workers = workers});
      const auto post = [&](auto wait) {
        rt.post([&, wait] {
          struct at_end {
            std::atomic<int>& of;
            ~at_end() { ++of; }
          } note{left};
          ++waiting;
          wait();
          ADD_FAILURE() << "it was not told";
        });
      };
      post([&] { result.get(); });
      post([&] { static_cast<void>(result_too.wait_for(1h)); });
      while (waiting < 2)
        std::this_thread::yield();
      std::this_thread::sleep_for(5ms);
    }
    EXPECT_EQ(left, 2);
    kept.set_value(1);
    kept_too.set_value(2);
    EXPECT_EQ(result.get(), 1);
    EXPECT_EQ(result_too.get(), 2);
  }
}

// A fiber that leaves breaks the promises it has made.
TEST(FutureEnd, WhoLeavesBreaksItsPromises) {
  promise<void> broken;
  future<void> result = broken.get_future();
  event never_set;
  std::atomic<bool> waits{false};
  {
    runtime rt({.workers = 1});
    rt.post([&, broken = std::move(broken)] {
      waits = true;
      never_set.wait();
    });
    while (!waits)
      std::this_thread::yield();
  }
  expect_future_error(std::future_errc::broken_promise, [&] { result.get(); });
}

}  // namespace
}  // namespace sennit
