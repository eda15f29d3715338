// Futures and promises, of both kinds.
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
#include "support/kinds.hpp"

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

template <class Kind>
class Futures : public kind_test<Kind> {};

// ---- Values and errors

KIND_TEST(Futures, HandOverWhatTheyAreGiven) {
  this->run([] {
    typename Kind::template promise<std::unique_ptr<int>> movable;
    auto from_movable = movable.get_future();
    EXPECT_TRUE(from_movable.valid());
    EXPECT_FALSE(from_movable.ready());
    EXPECT_FALSE(from_movable.wait_for(1ms));
    movable.set_value(std::make_unique<int>(1));
    EXPECT_TRUE(from_movable.ready());
    EXPECT_TRUE(from_movable.wait_until(steady::time_point::min()));
    EXPECT_EQ(*from_movable.get(), 1);
    EXPECT_FALSE(from_movable.valid());
  });

  int referred = 2;
  typename Kind::template promise<int&> reference;
  reference.set_value(referred);
  EXPECT_EQ(&reference.get_future().get(), &referred) << "outside of fibers";

  typename Kind::template promise<void> nothing;
  nothing.set_value();
  nothing.get_future().get();

  typename Kind::template promise<std::string> braced;
  braced.set_value({'a', 'b'});
  EXPECT_EQ(braced.get_future().get(), "ab");

  typename Kind::template promise<std::exception_ptr> error;
  error.set_value(nullptr);
  EXPECT_EQ(error.get_future().get(), nullptr);
}

KIND_TEST(Futures, RethrowWhatTheyAreGiven) {
  typename Kind::template promise<int> fails;
  auto from = fails.get_future();
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

KIND_TEST(Futures, HaveTheErrorsOfStd) {
  typename Kind::template promise<int> twice;
  auto once = twice.get_future();
  expect_future_error(std::future_errc::future_already_retrieved, [&] { (void)twice.get_future(); });
  twice.set_value(1);
  expect_future_error(std::future_errc::promise_already_satisfied, [&] { twice.set_value(2); });
  expect_future_error(std::future_errc::promise_already_satisfied,
                      [&] { twice.set_exception(std::make_exception_ptr(2)); });
  EXPECT_EQ(once.get(), 1);
  expect_future_error(std::future_errc::no_state, [&] { once.get(); });
  expect_future_error(std::future_errc::no_state, [&] { once.wait(); });
  expect_future_error(std::future_errc::no_state, [&] { (void)once.ready(); });
  expect_future_error(std::future_errc::no_state,
                      [] { (void)typename Kind::template future<void>().wait_for(1ms); });

  auto moved = std::move(twice);
  expect_future_error(std::future_errc::no_state, [&] { twice.set_value(3); });
  expect_future_error(std::future_errc::no_state, [&] { (void)twice.get_future(); });
}

KIND_TEST(Futures, BrokenPromisesAreErrors) {
  using promise_type = typename Kind::template promise<void>;
  std::optional<promise_type> broken(std::in_place);
  auto left = broken->get_future();
  broken.reset();
  EXPECT_TRUE(left.ready());
  expect_future_error(std::future_errc::broken_promise, [&] { left.get(); });

  promise_type replaced;
  auto of_replaced = replaced.get_future();
  replaced = promise_type();
  expect_future_error(std::future_errc::broken_promise, [&] { of_replaced.get(); });
  auto of_new = replaced.get_future();
  replaced.set_value();
  of_new.get();
}

struct failing_copy {
  explicit failing_copy(int at) : fails_at(at) { ++alive; }
  failing_copy(const failing_copy& from) : fails_at(from.fails_at) {
    if (fails_at == 1)
      throw std::runtime_error("copy");
    ++alive;
  }
  failing_copy(failing_copy&& from) noexcept : fails_at(from.fails_at) { ++alive; }
  ~failing_copy() { --alive; }
  int fails_at;
  static inline std::atomic<int> alive{0};
};

KIND_TEST(Futures, AValueThatCannotBeCopiedLeavesThePromiseAsItWas) {
  using promise_type = typename Kind::template promise<failing_copy>;
  {
    const failing_copy fails(1);
    promise_type asked;
    auto from = asked.get_future();
    EXPECT_THROW(asked.set_value(fails), std::runtime_error);
    EXPECT_FALSE(from.ready());
    asked.set_value(failing_copy(0));
    EXPECT_EQ(from.get().fails_at, 0);
  }
  {
    promise_type unasked;
    unasked.set_value(failing_copy(0));
    promise_type given_up;
    (void)given_up.get_future();
    given_up.set_value(failing_copy(0));
  }
  EXPECT_EQ(failing_copy::alive, 0);
}

// ---- Fibers and threads

// Promises, and what waits for them: fibers, and where these may OS threads.
template <class Kind>
struct pairs {
  static constexpr int count = 20;
  std::vector<typename Kind::template promise<int>> promises{count};
  std::vector<typename Kind::template future<int>> futures;
  std::atomic<long> sum{0};
  std::vector<typename Kind::fiber> fibers;
  std::vector<std::thread> threads;

  template <class Function>
  void begin(Function function, bool thread) {
    if (thread && Kind::threads(1) != 0)
      threads.emplace_back(std::move(function));
    else
      fibers.push_back(Kind::spawn(std::move(function)));
  }
  void run() {
    for (auto& each : promises)
      futures.push_back(each.get_future());
    for (int i = 0; i < count; ++i) {
      begin([&, i] { sum += std::move(futures[i]).get(); }, i % 4 == 3);
      begin(
          [&, i] {
            auto mine = std::move(promises[i]);
            mine.set_value(i);
          },
          i % 4 == 2);
    }
    for (auto& each : fibers)
      each.join();
  }
};

KIND_TEST(Futures, GoFromFibersAndThreadsToFibersAndThreads) {
  for (int round = 0; round < 20; ++round) {
    pairs<Kind> all;
    this->run([&] { all.run(); });
    for (std::thread& each : all.threads)
      each.join();
    EXPECT_EQ(all.sum, all.count * (all.count - 1) / 2);
  }
}

KIND_TEST(Futures, ErrorsGoFromFiberToFiber) {
  this->run([] {
    typename Kind::template promise<int> fails;
    typename Kind::template promise<int> broken;
    auto first = fails.get_future();
    auto second = broken.get_future();
    auto giver = Kind::spawn([fails = std::move(fails), broken = std::move(broken)]() mutable {
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

KIND_TEST(Futures, OneOfManyFulfils) {
  for (int round = 0; round < 50; ++round) {
    typename Kind::template promise<int> contended;
    auto result = contended.get_future();
    std::atomic<int> winner{-1};
    std::atomic<int> refused{0};
    this->run_all(
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
    EXPECT_EQ(refused, 5 + Kind::threads(1));
  }
}

KIND_TEST(Futures, DeadlinesRaceWithValues) {
  this->run_all(4, [&](int me) {
    for (int i = 0; i < 100; ++i) {
      typename Kind::template promise<int> late;
      auto result = late.get_future();
      auto gives = Kind::spawn([&late, i] { late.set_value(i); });
      while (!result.wait_for(std::chrono::microseconds((me * 7 + i) % 23))) {
      }
      EXPECT_EQ(result.get(), i);
      gives.join();
    }
  });
}

TEST(FutureOfThreads, DeadlinesRaceWithValues) {
  for (int i = 0; i < 100; ++i) {
    promise<int> late;
    future<int> result = late.get_future();
    std::thread gives([&late, i] { late.set_value(i); });
    while (!result.wait_for(std::chrono::microseconds(i % 23))) {
    }
    EXPECT_EQ(result.get(), i);
    gives.join();
  }
}

// ---- Memory

#if !defined(SENNIT_SANITIZED)
KIND_TEST(Futures, OneAllocationIsMade) {
  using promise_type = typename Kind::template promise<int>;
  allocations = 0;
  {
    promise_type kept;
    auto from = kept.get_future();
    kept.set_value(1);
    from.get();
  }
  EXPECT_EQ(allocations, 1);
  allocations_left = 0;
  EXPECT_THROW(promise_type(), std::bad_alloc);
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

}  // namespace
}  // namespace sennit
