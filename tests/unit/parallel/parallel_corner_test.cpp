// Corners of the parallel runtime: what happens seldom, made to happen.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "sennit/local/runtime.hpp"
#include "sennit/runtime.hpp"

namespace {

using namespace sennit;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

// Lets others run until it is true. False: too late.
template <class Condition>
bool comes_true(Condition condition) {
  const auto end = steady::now() + 10s;
  while (!condition()) {
    if (steady::now() > end)
      return false;
    this_fiber::yield();
  }
  return true;
}

// The end of a child that was entered by spawn_now is a dispatch, at which it may be time to look outside.
TEST(ParallelCorner, LooksOutsideAmongCallsThatOnlySpawnNow) {
  runtime rt({.workers = 1});
  rt.run([] {
    for (int offset = 0; offset < 4; ++offset) {
      std::atomic<bool> woken{false};
      fiber sleeper = spawn([&] {
        this_fiber::sleep_for(1ms);
        woken = true;
      });
      for (int i = 0; i <= offset; ++i)
        this_fiber::yield();
      const auto end = steady::now() + 10s;
      while (!woken && steady::now() < end)
        spawn_now([] {}).join();
      EXPECT_TRUE(woken) << offset;
      sleeper.join();
    }
  });
}

// A fiber has joined one whose descriptor then became another's: it must not be taken for its parent.
TEST(ParallelCorner, AFormerJoinerIsNoParent) {
  runtime rt({.workers = 1});
  rt.run([] {
    spawn([] {}).join();
    std::atomic<bool> joined{false};
    fiber joining;
    {
      fiber child = spawn([] { this_fiber::yield(); });
      joining = spawn([&joined, child = std::move(child)]() mutable {
        child.join();
        joined = true;
      });
    }
    ASSERT_TRUE(comes_true([&] { return joined.load(); }));
    joining.join();
  });
}

// More pinned fibers than a ring has room for stay where they are, too. (Each handover takes long where a CPU
// is emulated.)
#if defined(SUPPORT_EMULATED)
constexpr int pinned_steps = 3;
#else
constexpr int pinned_steps = 50;
#endif
TEST(ParallelCorner, PinnedFibersStayWhenARingIsFull) {
  runtime rt({.workers = 2});
  std::atomic<int> elsewhere{0};
  rt.run([&] {
    std::vector<fiber> all;
    for (int i = 0; i < 1000; ++i)
      all.push_back(spawn(
          [&] {
            for (int step = 0; step < pinned_steps; ++step) {
              if (this_fiber::worker() != 0)
                ++elsewhere;
              this_fiber::yield();
            }
          },
          {.pinned = 0}));
    for (fiber& each : all)
      each.join();
  });
  EXPECT_EQ(elsewhere, 0);
}

// A function that moves to another worker while it is copied.
struct moves {
  moves() = default;
  moves(const moves&) {
    const unsigned before = this_fiber::worker();
    for (int i = 0; i < 100 && this_fiber::worker() == before; ++i)
      this_fiber::yield();
  }
  void operator()() const {}
};

TEST(ParallelCorner, SpawnsAreOfTheWorkerThatTheirFunctionWasCopiedOn) {
  detail::force_migration = true;
  runtime rt({.workers = 2});
  detail::force_migration = false;
  rt.run([] {
    std::vector<fiber> all;
    std::atomic<bool> done{false};
    for (int i = 0; i < 8; ++i)
      all.push_back(spawn([&done] {
        while (!done)
          this_fiber::yield();
      }));
    for (int i = 0; i < 500; ++i) {
      const moves function;
      fiber queued = spawn(function);
      fiber at_once = spawn_now(function);
      queued.join();
      at_once.join();
    }
    done = true;
    for (fiber& each : all)
      each.join();
  });
}

// Fibers that gave way to one which then does not come back are had by others.
TEST(ParallelCorner, WhoGaveWayIsHadByOthersWhenItsSuccessorDoesNotComeBack) {
  runtime rt({.workers = 3});  // one of them has nothing to do, and watches
  rt.run([] {
    std::atomic<bool> done{false};
    std::atomic<int> steps[2] = {};
    std::vector<fiber> all;
    for (auto& each : steps)
      all.push_back(spawn([&] {
        while (!done) {
          ++each;
          this_fiber::yield();
        }
      }));
    for (int round = 0; round < 50; ++round) {
      this_fiber::sleep_for(100us);
      const int before[2] = {steps[0], steps[1]};
      const auto end = steady::now() + 5s;
      while ((steps[0] == before[0] || steps[1] == before[1]) && steady::now() < end)
        ;
      ASSERT_LT(steady::now(), end) << round;
    }
    done = true;
    for (fiber& each : all)
      each.join();
  });
}

struct spawns_at_its_end {
  std::atomic<int>& begun;
  ~spawns_at_its_end() {
    for (unsigned where : {0u, 1u}) {
      spawn([&begun = begun] { ++begun; }, {.near = where}).detach();
      spawn([&begun = begun] { ++begun; }, {.pinned = where}).detach();
      spawn_now([&begun = begun] { ++begun; }).detach();
    }
  }
};

// One worker runs all that is left, wherever it was to run.
TEST(ParallelCorner, FibersStartedWhileARuntimeEndsRun) {
  for (const bool migrating : {false, true}) {
    detail::force_migration = migrating;
    std::atomic<int> begun{0};
    std::atomic<bool> parked{false};
    {
      runtime rt({.workers = 2});
      rt.post([&] {
        const spawns_at_its_end last{begun};
        parked = true;
        this_fiber::park();
      });
      while (!parked)
        std::this_thread::yield();
    }
    EXPECT_EQ(begun, 6);
    detail::force_migration = false;
  }
}

// Descriptors go from one kind of runtime to the other.
TEST(ParallelCorner, ALocalRuntimeAfterAParallelOne) {
  for (int round = 0; round < 3; ++round) {
    runtime({.workers = 2}).run([] {
      std::vector<fiber> all;
      for (int i = 0; i < 100; ++i)
        all.push_back(spawn([] { this_fiber::yield(); }));
      for (fiber& each : all)
        each.join();
    });
    local::runtime rt;
    rt.run([] {
      for (int i = 0; i < 50; ++i) {
        local::spawn([] { local::this_fiber::sleep_for(1h); }).detach();
        local::spawn([] { local::this_fiber::park(); }).detach();
      }
      local::this_fiber::sleep_for(1ms);
    });
  }
}

// Numbers, names and counts, asked for from several sides.
TEST(ParallelCorner, AFiberHasOneNumberWhoeverAsks) {
  runtime rt({.workers = 2});
  std::atomic<bool> done{false};
  std::thread counting([&] {
    while (!done)
      static_cast<void>(rt.size());
  });
  rt.run([] {
    for (int i = 0; i < 2000; ++i) {
      std::uint64_t own = 0;
      fiber f = spawn([&own] { own = this_fiber::id(); });
      this_fiber::yield();
      const std::uint64_t asked = f.id();
      f.join();
      EXPECT_EQ(own, asked);
    }
  });
  done = true;
  counting.join();
}

}  // namespace
