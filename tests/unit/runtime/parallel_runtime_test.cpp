// The parallel runtime, on one worker, two and more than there are processors: fibers begin, give way, block,
// are woken and end, wherever they are; and what comes from other threads.
#include "sennit/runtime.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "parallel_kinds.hpp"
#include "sennit/event.hpp"
#include "support/child.hpp"
#include "support/counted.hpp"

namespace {

using namespace sennit;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

class Parallel : public parallel_test::parallel_runtime {};

INSTANTIATE_TEST_SUITE_P(Workers, Parallel, parallel_test::kinds, parallel_test::kind_name);

TEST_P(Parallel, RunsAFunctionAndReturnsItsResult) {
  EXPECT_EQ(rt.workers(), workers);
  EXPECT_EQ(rt.run([] { return std::string("text"); }), "text");
  EXPECT_EQ(*rt.run([] { return std::make_unique<int>(7); }), 7);
  EXPECT_EQ(rt.run([] { return std::string(this_fiber::name()); }), "main");
  EXPECT_THROW(rt.run([] { throw std::runtime_error("out"); }), std::runtime_error);
  EXPECT_EQ(rt.size(), 0u);
}

TEST_P(Parallel, JoinsWhatItSpawns) {
  rt.run([] {
    std::atomic<int> sum{0};
    std::vector<fiber> all;
    for (int i = 1; i <= 1000; ++i)
      all.push_back(spawn([&sum, i] { sum += i; }));
    for (fiber& each : all)
      each.join();
    EXPECT_EQ(sum, 500500);
  });
}

TEST_P(Parallel, ExceptionsComeOutOfJoin) {
  rt.run([] {
    fiber failing = spawn([] { throw std::runtime_error("child"); });
    EXPECT_THROW(failing.join(), std::runtime_error);
    EXPECT_FALSE(failing.joinable());
    fiber at_once = spawn_now([] { throw std::logic_error("at once"); });
    EXPECT_THROW(at_once.join(), std::logic_error);
  });
}

// (On several workers its caller may resume elsewhere before that.)
TEST_P(Parallel, SpawnNowRunsBeforeItReturns) {
  rt.run([&] {
    std::atomic<int> order{0};
    fiber child = spawn_now([&] { order = 1; });
    if (workers == 1) {
      EXPECT_EQ(order, 1);
    }
    child.join();
    EXPECT_EQ(order, 1);
  });
}

long fib(int n) {
  if (n < 2)
    return n;
  long first = 0;
  fiber child = spawn_now([&first, n] { first = fib(n - 1); });
  const long second = fib(n - 2);
  child.join();
  return first + second;
}

TEST_P(Parallel, DividesAndConquers) {
  for (int round = 0; round < 5; ++round)
    EXPECT_EQ(rt.run([] { return fib(18); }), 2584);
}

TEST_P(Parallel, YieldsAmongMany) {
  rt.run([] {
    std::atomic<int> steps{0};
    std::vector<fiber> all;
    for (int i = 0; i < 300; ++i)  // more than a worker's ring has room for
      all.push_back(spawn([&steps] {
        for (int step = 0; step < 50; ++step) {
          ++steps;
          this_fiber::yield();
        }
      }));
    for (fiber& each : all)
      each.join();
    EXPECT_EQ(steps, 300 * 50);
  });
}

TEST_P(Parallel, ParksUntilUnparked) {
  rt.run([] {
    for (int round = 0; round < 200; ++round) {
      std::atomic<int> step{0};
      fiber sleeper = spawn([&] {
        this_fiber::park();
        step = 1;
        this_fiber::park();
        step = 2;
      });
      if (round % 2 == 0)
        this_fiber::yield();
      sleeper.unpark();
      while (step != 1)
        this_fiber::yield();
      sleeper.unpark();
      sleeper.join();
      EXPECT_EQ(step, 2);
    }
  });
}

TEST_P(Parallel, AnUnparkThatCameFirstIsKept) {
  rt.run([] {
    std::atomic<bool> go{false};
    fiber f = spawn([&] {
      while (!go)
        this_fiber::yield();
      this_fiber::park();
    });
    f.unpark();
    f.unpark();  // no more than one
    go = true;
    f.join();
  });
}

TEST_P(Parallel, ParksGiveUpAtTheirDeadlines) {
  rt.run([] {
    const auto begin = steady::now();
    EXPECT_FALSE(this_fiber::park_until(begin + 5ms));
    EXPECT_GE(steady::now() - begin, 5ms);
    EXPECT_FALSE(this_fiber::park_until(steady::time_point::min()));
    std::atomic<bool> woken{false};
    fiber f = spawn([&] { woken = this_fiber::park_until(steady::now() + 10min); });
    this_fiber::sleep_for(1ms);
    f.unpark();
    f.join();
    EXPECT_TRUE(woken);
  });
}

TEST_P(Parallel, SleepsInTheOrderOfTheDeadlines) {
  rt.run([] {
    std::vector<fiber> all;
    std::atomic<int> done{0};
    const auto begin = steady::now();
    for (int i = 0; i < 50; ++i)
      all.push_back(spawn([&done, begin, i] {
        this_fiber::sleep_until(begin + i * 100us);
        EXPECT_GE(steady::now(), begin + i * 100us);
        ++done;
      }));
    for (fiber& each : all)
      each.join();
    EXPECT_EQ(done, 50);
  });
}

TEST_P(Parallel, AHandleThatIsAssignedToDetachesItsFormerFiber) {
  std::atomic<bool> first_ran = false;
  rt.run([&] {
    event end, ended;
    fiber handle = spawn([&] {
      end.wait();
      first_ran = true;
      ended.set();
    });
    fiber second = spawn([] {});
    handle = std::move(second);
    EXPECT_FALSE(second.joinable());
    handle.join();
    EXPECT_FALSE(handle.joinable());
    end.set();
    ended.wait();
  });
  EXPECT_TRUE(first_ran);
}

TEST_P(Parallel, JoinsGiveUpAtTheirDeadlines) {
  rt.run([] {
    fiber f = spawn([] { this_fiber::park(); });
    EXPECT_FALSE(f.join_for(2ms));
    EXPECT_TRUE(f.joinable());
    f.unpark();
    EXPECT_TRUE(f.join_for(10min));
    EXPECT_FALSE(f.joinable());
  });
  fiber f = rt.spawn([] { this_fiber::park(); });
  EXPECT_FALSE(f.join_for(2ms)) << "an OS thread";
  f.unpark();
  f.join();
}

// Deadlines and ends race: each join either gives up or sees the end, and the fiber is collected once.
TEST_P(Parallel, DeadlinesRaceWithEnds) {
  rt.run([] {
    for (int i = 0; i < 300; ++i) {
      fiber f = spawn([i] { this_fiber::sleep_for(std::chrono::microseconds(i % 30)); });
      while (!f.join_for(std::chrono::microseconds(i % 17)))
        this_fiber::yield();
    }
  });
}

TEST_P(Parallel, DetachedFibersGoOn) {
  std::atomic<int> done{0};
  rt.run([&] {
    for (int i = 0; i < 100; ++i)
      spawn([&] {
        this_fiber::yield();
        ++done;
      }).detach();
  });
  while (done != 100)
    std::this_thread::yield();
}

TEST_P(Parallel, TakesWorkFromOtherThreads) {
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        rt.post([&] { ++done; });
      EXPECT_EQ(rt.run([] { return 5; }), 5);
    });
  for (auto& each : threads)
    each.join();
  while (done != 600)
    std::this_thread::yield();
}

TEST_P(Parallel, OtherThreadsUnpark) {
  std::atomic<int> woken{0};
  fiber f = rt.spawn([&] {
    for (int i = 0; i < 500; ++i) {
      this_fiber::park();
      ++woken;
    }
  });
  while (woken < 500) {
    f.unpark();
    std::this_thread::yield();
  }
  f.join();
}

TEST(ParallelEnd, UnwindsWhoIsLeft) {
  for (unsigned workers : {1u, 2u, 4u}) {
    std::atomic<int> alive{0};
    {
      runtime rt({.workers = workers});
      rt.post([&] {
        support::counted here(alive);
        fiber joined = spawn([&] {
          support::counted there(alive);
          this_fiber::park();
        });
        joined.join();
      });
      rt.post([&] {
        support::counted here(alive);
        this_fiber::sleep_for(1h);
      });
      rt.post([&] {
        support::counted here(alive);
        this_fiber::park_until(steady::now() + 1h);
      });
      rt.post([&] {
        support::counted here(alive);
        for (;;)
          this_fiber::yield();
      });
      while (alive != 5)
        std::this_thread::yield();
    }
    EXPECT_EQ(alive, 0);
  }
}

TEST(ParallelEnd, RuntimesComeAndGo) {
  for (int round = 0; round < 30; ++round) {
    runtime first({.workers = 2});
    runtime second({.workers = 1});
    EXPECT_EQ(first.run([&] { return second.run([] { return 3; }); }), 3);
  }
}

// After fork() only the parent has the workers.
TEST(ParallelEnd, AForkedChildMayExitOrMakeItsOwn) {
  auto rt = std::make_unique<runtime>(runtime_options{.workers = 2});
  fiber parked = rt->spawn([] { this_fiber::park(); });
  const auto child = support::in_child([&] {
    bool works = true;
#if !defined(SUPPORT_TSAN) && !defined(SUPPORT_EMULATED)  // it and qemu-user start none in a child
    works = runtime({.workers = 2}).run([] { return 4; }) == 4;
#endif
    rt.reset();
    std::_Exit(works ? 7 : 8);
  });
  EXPECT_TRUE(child.exited(7)) << child;
  const auto misuse = support::in_child([&] { rt->run([] {}); });
  EXPECT_TRUE(misuse.killed_by(SIGABRT) && misuse.says("after fork()")) << misuse;
  EXPECT_EQ(rt->run([] { return 5; }), 5);
  parked.unpark();
  parked.join();
}

TEST(ParallelMisuse, RefusesWhatItCannotBe) {
  EXPECT_THROW(runtime({.workers = 65}), std::system_error);
  EXPECT_THROW(runtime({.workers = 0x10000}), std::system_error);
}

}  // namespace
