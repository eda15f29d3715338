// A runtime that ends while fibers wait: for each other, or inside of coroutines.
#include <gtest/gtest.h>

#include <chrono>
#include <utility>

#include "sennit/coroutine.hpp"
#include "sennit/generator.hpp"
#include "sennit/local/runtime.hpp"

namespace sennit::inline v0_1::local {
namespace {

using namespace std::chrono_literals;

struct counts {
  int left = 0;
  int went_on = 0;
};

struct leaving {
  explicit leaving(counts& to) : seen(to) {}
  ~leaving() { ++seen.left; }
  counts& seen;
};

void park(counts& seen) {
  const leaving here(seen);
  this_fiber::park();
  ++seen.went_on;
}

void let_run(runtime& rt) {
  for (int i = 0; i < 4; ++i)
    rt.run_once();
}

// What was seen of a fiber that parks somewhere in `body`, after its runtime's end.
template <class Body>
counts end_within(Body&& body) {
  counts seen;
  {
    runtime rt;
    rt.spawn([&] {
      const leaving here(seen);
      body(seen);
    });
    let_run(rt);
  }
  EXPECT_EQ(seen.went_on, 0);
  return seen;
}

// In either order of the two.
TEST(RuntimeEnd, JoinerAndJoined) {
  counts seen;
  {
    runtime rt;
    rt.spawn([&] {
      const leaving here(seen);
      fiber child = spawn([&] { park(seen); });
      child.join();
      ++seen.went_on;
    });
    fiber child;
    rt.spawn([&] {
      const leaving here(seen);
      while (!child.joinable())
        this_fiber::yield();
      fiber mine = std::move(child);
      mine.join();
      ++seen.went_on;
    });
    rt.spawn([&] { child = spawn([&] { park(seen); }); });
    let_run(rt);
    EXPECT_EQ(rt.size(), 4u);
  }
  EXPECT_EQ(seen.left, 4);
  EXPECT_EQ(seen.went_on, 0);
}

// The joiner is ready when the runtime ends, and is stopped only when it joins.
TEST(RuntimeEnd, JoinerIsReady) {
  counts seen;
  bool ends = false;
  {
    runtime rt;
    rt.spawn([&] {
      const leaving here(seen);
      fiber child = spawn([&] { park(seen); });
      while (!ends)
        this_fiber::yield();
      child.join();
      ++seen.went_on;
    });
    let_run(rt);
    ends = true;
  }
  EXPECT_EQ(seen.left, 2);
  EXPECT_EQ(seen.went_on, 0);
}

// The joiner waits for something else, on its way out, when the joined fiber ends.
TEST(RuntimeEnd, JoinerIsBusy) {
  bool slept = false;
  struct busy {
    ~busy() {
      const auto begin = std::chrono::steady_clock::now();
      this_fiber::sleep_for(2ms);
      slept = std::chrono::steady_clock::now() - begin >= 2ms;
    }
    bool& slept;
  };
  const counts after = end_within([&](counts& seen) {
    fiber child = spawn([&] { park(seen); });
    const busy last{slept};
    child.join();
    ++seen.went_on;
  });
  EXPECT_TRUE(slept);
  EXPECT_EQ(after.left, 2);
}

// What leaves may start fibers, and is to get what they do; but no more than others may these stay.
TEST(RuntimeEnd, FibersThatAreSpawnedMeanwhile) {
  bool helped = false;
  const counts after = end_within([&](counts& seen) {
    struct helpers {
      ~helpers() {
        spawn([this] { helped = true; }).join();
        fiber parks = spawn([this] { park(seen); });
        spawn([this] {
          const leaving here(seen);
          for (;;)
            this_fiber::yield();
        }).detach();
        parks.join();
      }
      counts& seen;
      bool& helped;
    };
    const helpers last{seen, helped};
    park(seen);
  });
  EXPECT_TRUE(helped);
  EXPECT_EQ(after.left, 4);
}

TEST(RuntimeEnd, FiberInsideOfACoroutine) {
  const counts after = end_within([](counts& seen) {
    sennit::coroutine<int(int)> body([&](auto&, int first) {
      park(seen);
      return first;
    });
    seen.went_on += body(1);
  });
  EXPECT_EQ(after.left, 2);
}

TEST(RuntimeEnd, FiberInsideOfAGenerator) {
  const counts after = end_within([](counts& seen) {
    sennit::generator<int> numbers([&](auto& yield) {
      const leaving outer(seen);
      yield.yield_all(sennit::generator<int>([&](auto& inner) {
        inner(1);
        park(seen);
        inner(2);
      }));
      ++seen.went_on;
    });
    int sum = 0;
    for (const int number : numbers)
      sum += number;
    seen.went_on += sum;
  });
  EXPECT_EQ(after.left, 3);
}

TEST(RuntimeEnd, OvertakesPosts) {
  counts seen;
  {
    runtime rt;
    rt.spawn([&] { park(seen); });
    let_run(rt);
    rt.post([&] { park(seen); });
  }
  EXPECT_EQ(seen.left, 1);
  EXPECT_EQ(seen.went_on, 0);
}

}  // namespace
}  // namespace sennit::inline v0_1::local
