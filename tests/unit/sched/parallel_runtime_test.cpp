// The parallel runtime, on one worker, two and more than there are processors: fibers begin, give way, block,
// are woken and end, wherever they are; and what comes from other threads.
#include "sennit/runtime.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cfenv>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "sennit/generator.hpp"
#include "support/busy_workers.hpp"
#include "support/child.hpp"
#include "support/fp_control.hpp"
// Last.
#include "sennit/errno.h"

namespace {

using namespace sennit;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

struct kind {
  unsigned workers;
  run_policy policy = run_policy::fifo;
  bool scattered = false;  // fibers go to another worker whenever they become ready
};

class Parallel : public testing::TestWithParam<kind> {
public:
  Parallel() { detail::scatter_fibers = false; }

protected:
  const unsigned workers = GetParam().workers;
  runtime rt{
      {.workers = (detail::scatter_fibers = GetParam().scattered, workers), .policy = GetParam().policy}};
};

INSTANTIATE_TEST_SUITE_P(Workers, Parallel,
                         testing::Values(kind{1}, kind{2}, kind{4}, kind{1, run_policy::lifo},
                                         kind{2, run_policy::lifo}, kind{1, run_policy::hybrid},
                                         kind{4, run_policy::hybrid}, kind{2, run_policy::fifo, true},
                                         kind{4, run_policy::fifo, true}),
                         [](const auto& each) {
                           return std::to_string(each.param.workers) +
                                  (each.param.policy == run_policy::lifo ? "_lifo" : "") +
                                  (each.param.policy == run_policy::hybrid ? "_hybrid" : "") +
                                  (each.param.scattered ? "_scattered" : "");
                         });

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

// (On several workers its caller may go on elsewhere before that.)
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

TEST_P(Parallel, PinnedFibersStay) {
  rt.run([&] {
    std::vector<fiber> all;
    for (unsigned i = 0; i < 40; ++i) {
      const unsigned where = i % workers;
      all.push_back(spawn(
          [where] {
            const auto thread = std::this_thread::get_id();
            for (int step = 0; step < 50; ++step) {
              EXPECT_EQ(this_fiber::worker(), where);
              EXPECT_EQ(std::this_thread::get_id(), thread);
              if (step % 10 == 0)
                this_fiber::sleep_for(50us);
              else
                this_fiber::yield();
            }
          },
          {.name = "pinned", .pinned = where}));
    }
    for (fiber& each : all)
      each.join();
  });
}

TEST_P(Parallel, NobodyIsPinnedToAWorkerThatThereIsNot) {
  const auto refused = [&](auto spawn_pinned) {
    try {
      spawn_pinned(spawn_options{.pinned = workers});
      ADD_FAILURE() << "it was started";
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code().value(), EINVAL);
      const std::string text = error.what();
      EXPECT_NE(text.find("worker " + std::to_string(workers)), std::string::npos) << text;
      EXPECT_NE(text.find("the runtime has " + std::to_string(workers)), std::string::npos) << text;
    }
  };
  refused([&](const spawn_options& options) { rt.spawn([] {}, options).join(); });
  rt.run([&] {
    refused([](const spawn_options& options) { spawn([] {}, options).join(); });
    spawn([] {}, {.pinned = workers - 1}).join();
    EXPECT_EQ(rt.size(), 1u);
  });
}

// All workers are held but the spawner's, which would come to the fiber if it was sent anywhere else; then
// that one spins, and the one that the hint names is let go.
TEST_P(Parallel, HintsSayWhereToBegin) {
  constexpr unsigned nowhere = ~0u;
  const auto expect_to_begin = [&](unsigned from, unsigned to) {
    std::vector<std::unique_ptr<support::held_worker>> held(workers);
    for (unsigned i = 0; i < workers; ++i)
      if (i != from)
        held[i] = std::make_unique<support::held_worker>(rt, i);
    std::atomic<unsigned> began{nowhere};
    const auto spawner = [&] {
      fiber hinted = spawn([&] { began = this_fiber::worker(); }, {.near = to});
      const auto end = steady::now() + 10s;
      const auto is_over = [&] { return began != nowhere || steady::now() > end; };
      if (from == to) {
        while (!is_over())
          this_fiber::yield();
      } else {
        for (unsigned i = 0; i < 2 * detail::poll_interval; ++i)
          this_fiber::yield();
        EXPECT_EQ(began, nowhere);
        held[to]->let_go();
        support::spin_until(is_over);
      }
      EXPECT_EQ(began, to) << "from " << from;
      held.clear();
      hinted.join();
    };
    rt.spawn(spawner, {.pinned = from}).join();
  };
  for (unsigned to = 0; to < workers; ++to)
    for (const unsigned from : {to, (to + 1) % workers})
      expect_to_begin(from, to);
}

TEST_P(Parallel, NamesAndNumbers) {
  rt.run([] {
    fiber f = spawn([] { this_fiber::park(); }, {.name = "worker bee"});
    EXPECT_EQ(f.name(), "worker bee");
    EXPECT_NE(f.id(), this_fiber::id());
    f.unpark();
    f.join();
    this_fiber::set_name("else");
    EXPECT_EQ(this_fiber::name(), "else");
  });
}

TEST_P(Parallel, StacksOfOtherSizes) {
  rt.run([] {
    for (int round = 0; round < 20; ++round) {
      fiber f = spawn(
          [] {
            volatile char big[200 * 1024];
            big[0] = 1;
            this_fiber::yield();
            EXPECT_EQ(big[0], 1);
          },
          {.stack_size = 512 * 1024});
      f.join();
    }
  });
}

TEST_P(Parallel, ErrnoIsKeptByWhatBlocks) {
  rt.run([] {
    std::vector<fiber> all;
    for (int i = 1; i <= 20; ++i)
      all.push_back(spawn([i] {
        for (int step = 0; step < 20; ++step) {
          errno = i;
          this_fiber::sleep_for(10us);
          EXPECT_EQ(errno, i);
        }
      }));
    for (fiber& each : all)
      each.join();
  });
}

// Every other fiber keeps its control state, wherever it goes; the rest, and a generator that it draws from,
// have the workers'.
TEST_P(Parallel, FpControlStateIsKeptByFibersThatAsk) {
  std::atomic<int> wrong{0};
  rt.run([&] {
    const auto work = [&wrong](bool asks) {
      std::optional<fp_control_guard> keeps;
      if (asks) {
        keeps.emplace();
        std::fesetround(FE_TOWARDZERO);
      }
      generator<bool> rounds([](auto& yield) {
        for (;;)
          yield(support::rounds_to_zero());
      });
      auto drawn = rounds.begin();
      for (int step = 0; step < 20; ++step, ++drawn) {
        this_fiber::yield();
        wrong += support::rounds_to_zero() != asks;
        this_fiber::sleep_for(10us);
        wrong += support::rounds_to_zero() != asks;
        spawn_now([&] { wrong += support::rounds_to_zero(); }).join();
        wrong += support::rounds_to_zero() != asks;
        wrong += *drawn;
        try {
          throw step;
        } catch (int) {
          this_fiber::yield();
          wrong += support::rounds_to_zero() != asks;
        }
      }
    };
    std::vector<fiber> all;
    for (int i = 0; i < 20; ++i)
      all.push_back(spawn([&work, i] { work(i % 2 == 0); }));
    for (fiber& each : all)
      each.join();
    wrong += support::rounds_to_zero();
  });
  EXPECT_EQ(wrong, 0);
}

struct noted {
  explicit noted(std::atomic<int>& of) : count(of) { ++count; }
  ~noted() { --count; }
  std::atomic<int>& count;
};

TEST(ParallelEnd, UnwindsWhoIsLeft) {
  for (unsigned workers : {1u, 2u, 4u}) {
    std::atomic<int> alive{0};
    {
      runtime rt({.workers = workers});
      rt.post([&] {
        noted here(alive);
        fiber joined = spawn([&] {
          noted there(alive);
          this_fiber::park();
        });
        joined.join();
      });
      rt.post([&] {
        noted here(alive);
        this_fiber::sleep_for(1h);
      });
      rt.post([&] {
        noted here(alive);
        this_fiber::park_until(steady::now() + 1h);
      });
      rt.post([&] {
        noted here(alive);
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

// After fork() the workers are the parent's alone.
TEST(ParallelEnd, AForkedChildMayExitOrMakeItsOwn) {
  auto rt = std::make_unique<runtime>(runtime_options{.workers = 2});
  fiber parked = rt->spawn([] { this_fiber::park(); });
  const auto child = support::in_child([&] {
    bool works = true;
#if !defined(SUPPORT_TSAN) && !defined(__aarch64__)  // it and qemu-user start none in a child
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
