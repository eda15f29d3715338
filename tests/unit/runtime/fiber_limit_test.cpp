// A runtime's limit of fibers, and stack sizes that cannot be.
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/offload.hpp"
#include "sennit/runtime.hpp"

namespace {

constexpr std::size_t most = 20;

// Spawns fibers that park until one is refused. `spawn` starts one. Returns how many there are.
template <class Fiber, class Spawn>
std::size_t spawn_to_limit(std::vector<Fiber>& all, Spawn spawn) {
  try {
    while (all.size() < 100 * most)
      all.push_back(spawn());
    ADD_FAILURE() << "there is no limit";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::resource_unavailable_try_again);
    EXPECT_NE(std::string(error.what()).find("max_fibers allows (20)"), std::string::npos) << error.what();
  }
  return all.size();
}

template <class Fiber>
void end_all(std::vector<Fiber>& all) {
  for (Fiber& each : all) {
    each.unpark();
    each.join();
  }
  all.clear();
}

// Each worker may use its finished fibers again: several make the limit an approximate one.
template <class Runtime, class Fiber, class Spawn>
void expect_limit(Runtime& runtime, unsigned workers, Spawn spawn) {
  const auto expect_most = [workers](std::size_t count) {
    EXPECT_GE(count, most - 1);  // the caller is a fiber, too
    EXPECT_LE(count, workers == 1 ? most - 1 : 3 * most);
  };
  runtime.run([&] {
    std::vector<Fiber> all;
    for (int round = 0; round < 3; ++round) {
      expect_most(spawn_to_limit(all, [&] { return spawn(0); }));
      all.back().unpark();
      all.back().join();
      all.pop_back();
      expect_most(spawn_to_limit(all, [&] { return spawn(128 * 1024); }));
      end_all(all);
    }
  });
}

TEST(FiberLimit, RefusesFibersOfALocalRuntime) {
  sennit::local::runtime runtime({.max_fibers = most});
  expect_limit<sennit::local::runtime, sennit::local::fiber>(runtime, 1, [](std::size_t stack) {
    return sennit::local::spawn([] { sennit::local::this_fiber::park(); }, {.stack_size = stack});
  });
}

TEST(FiberLimit, RefusesFibersOfAParallelRuntime) {
  for (const unsigned workers : {1u, 4u}) {
    sennit::runtime runtime({.workers = workers, .max_fibers = most});
    expect_limit<sennit::runtime, sennit::fiber>(runtime, workers, [](std::size_t stack) {
      return sennit::spawn([] { sennit::this_fiber::park(); }, {.stack_size = stack});
    });
  }
}

TEST(FiberLimit, CountsFibersWithoutAStack) {
  sennit::local::runtime runtime({.max_fibers = most});
  runtime.run([] {
    std::vector<sennit::local::fiber> all;
    EXPECT_EQ(spawn_to_limit(all, [] { return sennit::local::spawn(sennit::become([] {})); }), most - 1);
    end_all(all);
  });
}

TEST(FiberLimit, LetsPostsOfALocalRuntimeWait) {
  sennit::local::runtime runtime({.max_fibers = 2});
  runtime.run([&] {
    std::vector<int> order;
    auto other = sennit::local::spawn([] { sennit::local::this_fiber::park(); });
    for (int i = 0; i < 3; ++i)
      runtime.post([&order, i] { order.push_back(i); });
    sennit::local::this_fiber::sleep_for(std::chrono::milliseconds(3));
    EXPECT_TRUE(order.empty());
    other.unpark();
    other.join();
    while (order.size() < 3)
      sennit::local::this_fiber::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(order, (std::vector{0, 1, 2}));
  });
}

// The only fiber waits for a post of another kind, which must not wait behind the delayed one.
TEST(FiberLimit, DelaysOnlyPostsThatMakeFibers) {
  sennit::local::runtime runtime({.max_fibers = 1});
  int ran = 0;
  runtime.run([&] {
    runtime.post([&ran] { ++ran; });
    EXPECT_EQ(sennit::offload([] { return 7; }), 7);
    EXPECT_EQ(ran, 0);
  });
  for (int i = 0; i < 10'000 && ran == 0; ++i)
    runtime.run_once(std::chrono::steady_clock::now() + std::chrono::milliseconds(1));
  EXPECT_EQ(ran, 1);
}

TEST(StackSizes, ThatCannotBeAreRefusedWhenTheRuntimeIsMade) {
  constexpr auto largest = std::numeric_limits<std::size_t>::max();
  const auto expect_refused = [](auto make) {
    try {
      make();
      ADD_FAILURE() << "accepted";
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), std::errc::invalid_argument) << error.what();
    }
  };
  for (const std::size_t size : {std::size_t{1} << (8 * sizeof(void*) - 4), largest, largest / 2}) {
    expect_refused([size] { sennit::local::runtime({.stack_size = size}); });
    expect_refused([size] { sennit::runtime({.workers = 1, .stack_size = size}); });
    expect_refused([size] { sennit::local::runtime({.guard_size = size}); });
    expect_refused([size] { sennit::runtime({.workers = 1, .guard_size = size}); });
    sennit::local::runtime runtime;
    expect_refused([&] { runtime.spawn([] {}, {.stack_size = size}); });
  }
}

}  // namespace
