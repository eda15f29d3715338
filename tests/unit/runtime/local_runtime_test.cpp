#include "sennit/local/runtime.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sennit/coroutine.hpp"
#include "sennit/local/event.hpp"
#include "sennit/no_deadline.hpp"
#include "support/policies.hpp"

namespace sennit::inline v0_1::local {
namespace {

using namespace std::chrono_literals;

class LocalRuntime : public testing::TestWithParam<run_policy> {
protected:
  runtime rt{{.policy = GetParam()}};
};

TEST_P(LocalRuntime, ReturnsTheMainFibersResult) {
  EXPECT_EQ(rt.run([] { return 42; }), 42);
  EXPECT_EQ(rt.run([] { return std::string("again"); }), "again");
  rt.run([] {});
}

TEST_P(LocalRuntime, ThrowsWhatTheMainFiberThrew) {
  EXPECT_THROW(rt.run([] { throw std::runtime_error("main"); }), std::runtime_error);
  EXPECT_EQ(rt.run([] { return 1; }), 1);
}

TEST_P(LocalRuntime, JoinsChildren) {
  int sum = 0;
  rt.run([&] {
    std::vector<fiber> children;
    for (int i = 1; i <= 100; ++i)
      children.push_back(spawn([&sum, i] {
        this_fiber::yield();
        sum += i;
      }));
    for (auto& child : children)
      child.join();
  });
  EXPECT_EQ(sum, 5050);
}

TEST_P(LocalRuntime, JoinThrowsWhatTheChildThrew) {
  rt.run([] {
    auto child = spawn([] {
      this_fiber::yield();
      throw std::runtime_error("child");
    });
    try {
      child.join();
      FAIL() << "join did not throw";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "child");
    }
    EXPECT_FALSE(child.joinable());
  });
}

TEST_P(LocalRuntime, JoinsAFiberThatEndedBefore) {
  rt.run([] {
    bool ran = false;
    auto child = spawn([&] { ran = true; });
    this_fiber::yield();
    child.join();
    EXPECT_TRUE(ran);
  });
}

TEST_P(LocalRuntime, AHandleThatIsAssignedToDetachesItsFormerFiber) {
  bool first_ran = false;
  rt.run([&] {
    fiber handle = spawn([&] {
      this_fiber::sleep_for(1us);
      first_ran = true;
    });
    fiber second = spawn([] {});
    handle = std::move(second);
    EXPECT_FALSE(second.joinable());
    handle.join();
    while (!first_ran)
      this_fiber::yield();
  });
  EXPECT_TRUE(first_ran);
}

TEST_P(LocalRuntime, JoinGivesUpAtItsDeadline) {
  rt.run([] {
    auto child = spawn([] { this_fiber::sleep_for(50ms); });
    EXPECT_FALSE(child.join_for(1ms));
    EXPECT_TRUE(child.joinable());
    EXPECT_TRUE(child.join_for(10s));
  });
}

// A busy fiber lets both deadlines pass, so that the child becomes ready, and then its joiner.
TEST_P(LocalRuntime, JoinGivesUpRightBeforeTheEnd) {
  rt.run([] {
    const auto wakes = std::chrono::steady_clock::now() + 1ms;
    auto child = spawn([&] { this_fiber::sleep_until(wakes); });
    this_fiber::yield();
    auto busy = spawn([&] {
      while (std::chrono::steady_clock::now() <= wakes + 1us) {
      }
    });
    EXPECT_TRUE(child.join_until(wakes + 1us) || child.join_for(10s));
    busy.join();
    this_fiber::yield();
  });
  EXPECT_EQ(rt.size(), 0u);
}

TEST_P(LocalRuntime, SleepersWakeInTheOrderOfTheirDeadlines) {
  std::vector<int> order;
  rt.run([&] {
    const auto start = std::chrono::steady_clock::now();
    std::vector<fiber> sleepers;
    for (int delay : {5, 1, 4, 2, 3, 0})
      sleepers.push_back(spawn([&order, delay, start] {
        this_fiber::sleep_until(start + delay * 10ms);
        EXPECT_GE(std::chrono::steady_clock::now(), start + delay * 10ms);
        order.push_back(delay);
      }));
    for (auto& sleeper : sleepers)
      sleeper.join();
  });
  if (GetParam() != run_policy::fifo)  // the policy decides the order of fibers that wake together
    std::sort(order.begin(), order.end());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST_P(LocalRuntime, UnparkEndsAPark) {
  rt.run([] {
    int stage = 0;
    auto child = spawn([&] {
      stage = 1;
      this_fiber::park();
      stage = 2;
    });
    this_fiber::yield();
    EXPECT_EQ(stage, 1);
    child.unpark();
    child.join();
    EXPECT_EQ(stage, 2);
  });
}

TEST_P(LocalRuntime, UnparkBeforeParkIsNotLostAndNotCountedTwice) {
  rt.run([] {
    auto child = spawn([] {
      this_fiber::park();
      EXPECT_FALSE(this_fiber::park_until(std::chrono::steady_clock::now() + 1ms));
    });
    child.unpark();
    child.unpark();
    child.join();
  });
}

TEST_P(LocalRuntime, ErrnoSurvivesAPark) {
  rt.run([] {
    auto child = spawn([] {
      errno = EDOM;
      this_fiber::park();
      EXPECT_EQ(errno, EDOM);
    });
    this_fiber::yield();
    errno = ERANGE;
    child.unpark();
    child.join();
    EXPECT_EQ(errno, ERANGE);
  });
}

// A scheduler step waits in the driver, on the worker's stack, until a fiber can run.
TEST_P(LocalRuntime, ErrnoSurvivesAParkWhileNobodyCanRun) {
  rt.run([] {
    errno = EDOM;
    this_fiber::sleep_for(1ms);
    EXPECT_EQ(errno, EDOM);
    constexpr unsigned turns =
        2 * sennit::detail::longest_poll_interval;  // one of them polls for external events
    auto child = spawn([] {
      for (unsigned i = 0; i < turns; ++i) {
        errno = static_cast<int>(i % 100);
        this_fiber::park();
        EXPECT_EQ(errno, static_cast<int>(i % 100));
      }
    });
    this_fiber::yield();
    for (unsigned i = 0; i < turns; ++i) {
      errno = ERANGE;
      child.unpark();
      this_fiber::sleep_until(std::chrono::steady_clock::time_point::min());
      EXPECT_EQ(errno, ERANGE);
    }
  });
}

TEST_P(LocalRuntime, EachFiberKeepsItsOwnException) {
  rt.run([] {
    std::vector<fiber> fibers;
    for (int i = 0; i < 16; ++i)
      fibers.push_back(spawn([i] {
        try {
          throw i;
        } catch (int) {
          this_fiber::yield();
          try {
            throw;
          } catch (int mine) {
            EXPECT_EQ(mine, i);
          }
        }
      }));
    for (auto& f : fibers)
      f.join();
  });
}

TEST_P(LocalRuntime, ForeignThreadsPost) {
  std::vector<int> order;
  std::thread poster;
  rt.run([&] {
    auto self = spawn([] { this_fiber::park(); });
    poster = std::thread([&] {
      for (int i = 0; i < 100; ++i)
        rt.post([&, i] {
          order.push_back(i);
          if (order.size() == 100)
            self.unpark();
        });
    });
    self.join();
  });
  poster.join();
  std::sort(order.begin(), order.end());
  ASSERT_EQ(order.size(), 100u);
  EXPECT_EQ(order[99], 99);
}

TEST_P(LocalRuntime, UnwindsWhoIsLeftAtItsEnd) {
  int started = 0;
  int destroyed = 0;
  struct witness {
    int* count;
    ~witness() { ++*count; }
  };
  {
    runtime short_lived({.policy = GetParam()});
    short_lived.run([&] {
      spawn([&] {
        ++started;
        witness w{&destroyed};
        this_fiber::park();
        ADD_FAILURE() << "went on after its runtime's end";
      });
      spawn([&] {
        ++started;
        witness w{&destroyed};
        this_fiber::sleep_for(1h);
      });
      this_fiber::sleep_for(1ms);
      spawn([&] {
        ++started;
        witness w{&destroyed};
        for (;;)
          this_fiber::yield();
      });
      this_fiber::yield();
      this_fiber::yield();
      EXPECT_EQ(started, 3);
      spawn([w = std::make_unique<witness>(&destroyed)] {
        static_cast<void>(w);
        ADD_FAILURE() << "began after its runtime's end";
      });
    });
    EXPECT_EQ(destroyed, 0);
  }
  EXPECT_EQ(destroyed, 4);
}

TEST_P(LocalRuntime, RunOnceRunsWhatIsReadyAndTellsWhetherThereIsMore) {
  int turns = 0;
  auto worker = rt.spawn([&] {
    for (int i = 0; i < 3; ++i) {
      ++turns;
      this_fiber::yield();
    }
  });
  EXPECT_TRUE(rt.run_once());
  EXPECT_EQ(turns, 1);
  while (rt.run_once()) {
  }
  EXPECT_EQ(turns, 3);
  EXPECT_EQ(rt.size(), 0u);
}

TEST_P(LocalRuntime, ItsDescriptorPollsReadableForPostsAndDeadlines) {
  pollfd watch{rt.descriptor(), POLLIN, 0};
  EXPECT_FALSE(rt.run_once());
  EXPECT_EQ(::poll(&watch, 1, 0), 0);
  bool slept = false;
  rt.spawn([&] {
      this_fiber::sleep_for(20ms);
      slept = true;
    }).detach();
  EXPECT_FALSE(rt.run_once());
  EXPECT_EQ(::poll(&watch, 1, 10'000), 1);
  while (!slept)
    rt.run_once();
  bool posted = false;
  rt.run_once();
  std::thread([&] { rt.post([&] { posted = true; }); }).join();
  EXPECT_FALSE(posted);
  EXPECT_EQ(::poll(&watch, 1, 10'000), 1);
  rt.run_once();
  EXPECT_TRUE(posted);
  while (rt.run_once()) {
  }
  EXPECT_EQ(::poll(&watch, 1, 0), 0);
}

TEST_P(LocalRuntime, RunOnceWaitsForItsDeadline) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(rt.run_once(start + 20ms));
  EXPECT_GE(std::chrono::steady_clock::now(), start + 20ms);
}

TEST_P(LocalRuntime, RunOnceEndsBeforeItsDeadlineWhereThereIsWork) {
  for (const auto far : {std::chrono::steady_clock::now() + 1h, no_deadline}) {
    bool posted = false;
    const std::jthread poster([&] {
      std::this_thread::sleep_for(5ms);
      rt.post([&] { posted = true; });
    });
    while (!posted)
      rt.run_once(far);
    bool slept = false;
    rt.spawn([&] {
        this_fiber::sleep_for(5ms);
        slept = true;
      }).detach();
    while (!slept)
      rt.run_once(far);
  }
}

// Outside of its fibers: in its host, and in a fiber of another runtime of the same thread.
TEST_P(LocalRuntime, FibersAreWokenFromOutside) {
  const auto idle = [&] {
    while (rt.run_once()) {
    }
  };
  int woken = 0;
  for (const bool nested : {false, true}) {
    auto parks = rt.spawn([&] {
      this_fiber::park();
      ++woken;
    });
    event set;
    rt.spawn([&] {
        set.wait();
        ++woken;
      }).detach();
    idle();
    const auto wake = [&] {
      parks.unpark();
      set.set();
    };
    if (nested)
      runtime().run(wake);
    else
      wake();
    EXPECT_EQ(woken, nested ? 2 : 0);
    idle();
    EXPECT_EQ(woken, nested ? 4 : 2);
    parks.detach();
  }
}

TEST_P(LocalRuntime, ManyFibersAtOnce) {
  long sum = 0;
  rt.run([&] {
    std::vector<fiber> fibers;
    for (int i = 0; i < 20000; ++i)
      fibers.push_back(spawn([&sum, i] {
        this_fiber::yield();
        sum += i;
      }));
    for (auto& f : fibers)
      f.join();
  });
  EXPECT_EQ(sum, 19999L * 20000 / 2);
}

TEST_P(LocalRuntime, TakesFibersOfOtherStackSizes) {
  rt.run([] {
    for (int round = 0; round < 3; ++round)
      spawn(
          [] {
            volatile char large[3 * 1024 * 1024];
            large[0] = 1;
            large[sizeof large - 1] = 1;
          },
          {.name = "large", .stack_size = 4 * 1024 * 1024})
          .join();
  });
}

TEST_P(LocalRuntime, MovesToAnotherThread) {
  auto sleeper = rt.spawn([] { this_fiber::park(); });
  rt.run_once();
  std::thread([&] {
    rt.run([&] {
      sleeper.unpark();
      sleeper.join();
    });
  }).join();
}

// Two that only wake each other do not keep a third from running, but under lifo.
TEST_P(LocalRuntime, APairThatWakesEachOtherStarvesNobody) {
  if (GetParam() == run_policy::lifo)
    return;
  rt.run([] {
    bool stop = false;
    fiber ping, pong;
    const auto play = [&stop](fiber& other) {
      while (!stop) {
        other.unpark();
        this_fiber::park();
      }
    };
    ping = spawn([&] { play(pong); });
    pong = spawn([&] { play(ping); });
    for (int i = 0; i < 1000; ++i)
      this_fiber::yield();
    stop = true;
    ping.unpark();
    pong.unpark();
    ping.join();
    pong.join();
  });
}

// A fiber may be suspended on the stack of a coroutine that it resumed.
TEST_P(LocalRuntime, FibersTakeTurnsInsideOfCoroutines) {
  int sum = 0;
  const auto resume = [&] {
    sennit::coroutine<int(int)> doubling([](auto& self, int number) {
      while (number >= 0) {
        this_fiber::yield();
        this_fiber::sleep_for(10us);
        number = self.yield(2 * number);
      }
      return number;
    });
    for (int i = 0; i < 20; ++i)
      sum += doubling(i);
  };
  rt.run([&] {
    auto other = spawn(resume);
    resume();
    other.join();
  });
  EXPECT_EQ(sum, 2 * 380);
}

INSTANTIATE_TEST_SUITE_P(Policies, LocalRuntime, support::every_policy(), support::policy_name);

TEST(LocalRuntimeDeathTest, AnExceptionNobodyCanJoinNamesItsFiber) {
  EXPECT_DEATH(runtime().run([] {
    spawn([] { throw std::runtime_error("lost"); }, {.name = "thrower"}).detach();
    this_fiber::yield();
  }),
               "\"thrower\".*lost .catch it in(.|\n)*of 'std::runtime_error'");
}

}  // namespace
}  // namespace sennit::inline v0_1::local
