// Futures and promises of fibers on several workers, of OS threads and of C++20 coroutines.
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

template <class Function>
void expect_future_error(std::future_errc code, Function function) {
  try {
    function();
    ADD_FAILURE() << "no error";
  } catch (const std::future_error& error) {
    EXPECT_EQ(error.code(), code);
  }
}

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

// ---- Coroutines

future<int> add(future<int> first, future<int> second) {
  const int left = co_await first;
  co_return left + co_await std::move(second);
}

future<void> note_thread(future<void> when, std::thread::id& resumed_on) {
  co_await when;
  resumed_on = std::this_thread::get_id();
}

TEST_P(ParallelFuture, AFiberWaitsForACoroutine) {
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

TEST_P(ParallelFuture, ACoroutineGoesOnWhereItsPromiseIsFulfilled) {
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

TEST_P(ParallelFuture, AwaitingRacesWithFulfilling) {
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

future<int> fails_after(future<void> when) {
  co_await when;
  throw std::runtime_error("failed");
}
future<std::string> what_of(future<int> from) {
  try {
    co_await from;
  } catch (const std::exception& error) {
    co_return error.what();
  }
  co_return "nothing";
}

TEST(FutureCoroutine, ErrorsGoThrough) {
  promise<void> when;
  future<std::string> what = what_of(fails_after(when.get_future()));
  when.set_value();
  EXPECT_EQ(what.get(), "failed");

  std::optional<promise<int>> broken(std::in_place);
  what = what_of(broken->get_future());
  EXPECT_FALSE(what.ready());
  broken.reset();
  EXPECT_NE(what.get().find("roken"), std::string::npos);

  EXPECT_THROW(fails_after([]() -> future<void> { co_return; }()).get(), std::runtime_error);
  expect_future_error(std::future_errc::no_state, [] { add({}, {}).get(); });
}

struct says_when_gone {
  explicit says_when_gone(bool& flag) : gone(flag) {}
  says_when_gone(says_when_gone&& from) noexcept : gone(from.gone), mine(std::exchange(from.mine, false)) {}
  ~says_when_gone() {
    if (mine)
      gone = true;
  }
  bool& gone;
  bool mine = true;
};

future<int&> keeps(says_when_gone, int& value, future<void> when) {
  co_await when;
  co_return value;
}
future<bool> sees_gone(future<int&> from, const bool& gone) {
  co_await from;
  co_return gone;
}

TEST(FutureCoroutine, IsGoneBeforeItsFutureIsReady) {
  bool gone = false;
  int value = 1;
  promise<void> when;
  future<bool> seen = sees_gone(keeps(says_when_gone(gone), value, when.get_future()), gone);
  EXPECT_FALSE(gone);
  when.set_value();
  EXPECT_TRUE(seen.get());

  bool gone_too = false;
  promise<void> nobody_waits;
  (void)keeps(says_when_gone(gone_too), value, nobody_waits.get_future());
  nobody_waits.set_value();
  EXPECT_TRUE(gone_too);
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

TEST_P(ParallelFuture, CoroutinesBlockTheirFibers) {
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

// ... and futures' coroutines await what is not a future.
struct resumed_by_thread {
  std::thread& on;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> who) {
    std::thread& resumer = on;  // we are gone as soon as it runs
    resumer = std::thread(who);
  }
  int await_resume() const noexcept { return 7; }
};

TEST_P(ParallelFuture, AFiberWaitsForWhateverCanBeAwaited) {
  rt.run([] {
    std::thread resumer;
    EXPECT_EQ([](std::thread& on) -> future<int> { co_return co_await resumed_by_thread{on}; }(resumer).get(),
              7);
    resumer.join();
  });
}

// ---- Memory

#if !defined(SENNIT_SANITIZED)
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

TEST(FutureCoroutine, NoMemoryIsAnError) {
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

// A coroutine that blocks a fiber ends when that is told to leave, and so does the fiber: at its next wait.
TEST(FutureEnd, ACoroutineThatBlocksAFiberEndsWithIt) {
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

TEST(FutureEnd, ACoroutineThatBlocksALocalFiberEndsWithIt) {
  bool left = false;
  future<void> result;
  const auto blocks = []() -> future<void> {
    local::this_fiber::park();
    co_return;
  };
  {
    local::runtime rt;
    rt.run([&] {
      local::spawn([&] {
        struct at_end {
          bool& of;
          ~at_end() { of = true; }
        } note{left};
        result = blocks();
        local::this_fiber::yield();
        ADD_FAILURE() << "it was not told";
      }).detach();
      local::this_fiber::yield();
    });
  }
  EXPECT_TRUE(left);
  expect_future_error(std::future_errc::broken_promise, [&] { result.get(); });
}

}  // namespace
}  // namespace sennit
