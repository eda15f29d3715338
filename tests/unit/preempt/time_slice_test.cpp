// Time slices, and what keeps a fiber from being made to yield, without the plugin: fibers look at the flag
// as checks do.
#include "sennit/detail/sched/time_slice.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "sennit/detail/sched/faults_are_fatal.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/no_yield_guard.hpp"
#include "sennit/runtime.hpp"
#include "support/any_runtime.hpp"

using namespace std::chrono_literals;
using sennit::detail::see_time_slices;

namespace {

bool requested() {
  return __atomic_load_n(&sennit_yield_requested, __ATOMIC_RELAXED) != 0;
}

void check() {
  if (requested())
    sennit_forced_yield();
}

class TimeSlice : public testing::TestWithParam<unsigned>, protected support::any_runtime {
protected:
  TimeSlice() : any_runtime{GetParam()} {}
};

TEST_P(TimeSlice, ASpinnerIsMadeToYield) {
  run(
      [&] {
        std::atomic<bool> stop{false};
        errno = 77;
        spawn_detached([&] { stop = true; });
        while (!stop)
          check();
        EXPECT_EQ(errno, 77);
      },
      200us);
}

TEST_P(TimeSlice, ASleeperWakes) {
  run(
      [&] {
        std::atomic<bool> stop{false};
        spawn_detached([&] {
          sleep();
          stop = true;
        });
        while (!stop)
          check();
      },
      200us);
}

// Each of them many times.
TEST_P(TimeSlice, SpinnersTakeTurns) {
  run(
      [&] {
        std::atomic<int> turn{0}, ended{0};
        for (int mine = 0; mine < 3; ++mine)
          spawn_detached([&, mine] {
            for (int round = 0; round < 10; ++round) {
              while (turn % 3 != mine)
                check();
              ++turn;
            }
            ++ended;
          });
        while (ended != 3)
          check();
      },
      100us);
}

TEST_P(TimeSlice, NobodyAsksALoneFiber) {
  if (workers > 1)
    return;  // the others' drivers may be watched
  run(
      [&] {
        const std::uint64_t before = see_time_slices().count;
        while (see_time_slices().count < before + 5)
          ASSERT_FALSE(requested());
      },
      100us);
}

TEST_P(TimeSlice, NoneWhereNoneWasAskedFor) {
  run(
      [&] {
        std::thread other([&] {
          run([&] {
            spawn_detached([] {});
            const std::uint64_t before = see_time_slices().count;
            while (see_time_slices().count < before + 5)
              ASSERT_FALSE(requested());
          });
        });
        // Till it has ended the thread has a worker to look at.
        other.join();
      },
      100us);
}

TEST_P(TimeSlice, IsNotNegative) {
  try {
    run([] {}, -1ms);
    FAIL() << "nothing was thrown";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("not -1000000 ns"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Runtimes, TimeSlice, testing::Values(0u, 1u, 2u), support::runtime_name);

// While no fiber runs it sleeps; a fiber that comes then is made to yield as usual.
TEST(TimeSlices, SleepWhileNobodyRuns) {
  for (const unsigned workers : {1u, 3u}) {
    sennit::runtime runtime({.workers = workers, .time_slice = 200us});
    for (int round = 0; round < 20; ++round) {
      while (!see_time_slices().sleeps)
        std::this_thread::yield();
      runtime
          .spawn([] {
            std::atomic<bool> stop{false};
            sennit::spawn([&] { stop = true; }).detach();
            while (!stop)
              check();
          })
          .join();
    }
  }
}

TEST(TimeSlices, SleepWhileALocalRuntimeWaits) {
  sennit::local::runtime runtime({.time_slice = 200us});
  for (int round = 0; round < 20; ++round)
    runtime.run([&] {
      bool woken = false;
      std::thread other([&] {
        while (!see_time_slices().sleeps)
          std::this_thread::yield();
        runtime.post([&] { woken = true; });
      });
      while (!woken)
        sennit::local::this_fiber::park_until(std::chrono::steady_clock::now() + 1ms);
      other.join();
      volatile bool stop = false;
      sennit::local::spawn([&] { stop = true; }).detach();
      while (!stop)
        check();
    });
}

// ---- What keeps a fiber from yielding. No timer: a check is as it is when the slice is over.

class NoYield : public TimeSlice {
public:
  template <class Function>
  void run_beside_other(Function function) {
    run([&] {
      std::atomic<bool> done{false}, ended{false};
      spawn_detached([&] {
        while (!done) {
          ++turns;
          yield();
        }
        ended = true;
      });
      while (turns == 0)
        yield();
      function();
      done = true;
      while (!ended)
        yield();
    });
  }
  // Whether the other fiber ran.
  bool gives_way() {
    const int before = turns;
    sennit_forced_yield();
    return turns != before;
  }
  std::atomic<int> turns{0};
};

TEST_P(NoYield, UnderAGuard) {
  run_beside_other([&] {
    EXPECT_TRUE(gives_way());
    {
      const sennit::no_yield_guard outer;
      {
        const sennit::no_yield_guard inner;
        EXPECT_FALSE(gives_way());
      }
      EXPECT_FALSE(gives_way());
      const int before = turns;
      yield();  // by itself
      EXPECT_NE(turns, before);
      EXPECT_FALSE(gives_way());
    }
    EXPECT_TRUE(gives_way());
  });
}

TEST_P(NoYield, TheEndOfAGuardYieldsIfThatWasDue) {
  run_beside_other([&] {
    int before;
    {
      const sennit::no_yield_guard guard;
      before = turns;
    }
    EXPECT_EQ(turns, before);
    {
      const sennit::no_yield_guard guard;
      EXPECT_FALSE(gives_way());
      before = turns;
    }
    EXPECT_NE(turns, before);
  });
}

// With a lock of ours held.
TEST_P(NoYield, WhereFaultsAreFatalAndTheNextCheckYieldsIfThatWasDue) {
  run_beside_other([&] {
    int before;
    {
      const sennit::detail::faults_are_fatal<true> with_lock;
      EXPECT_FALSE(gives_way());
      before = turns;
    }
    EXPECT_EQ(turns, before);
    check();
    EXPECT_NE(turns, before);
    {
      const sennit::no_yield_guard guard;
      {
        const sennit::detail::faults_are_fatal<true> with_lock;
        EXPECT_FALSE(gives_way());
      }
      EXPECT_FALSE(requested());
      before = turns;
    }
    EXPECT_NE(turns, before);
    EXPECT_TRUE(gives_way());
  });
}

TEST_P(NoYield, BetweenBeginAndEnd) {
  run_beside_other([&] {
    sennit_no_yield_begin();
    sennit_no_yield_begin();
    EXPECT_FALSE(gives_way());
    sennit_no_yield_end();
    EXPECT_FALSE(gives_way());
    const int before = turns;
    sennit_no_yield_end();
    EXPECT_NE(turns, before);
    EXPECT_TRUE(gives_way());
    sennit_no_yield_end();  // of none
    EXPECT_TRUE(gives_way());
  });
}

// Others are not kept by a fiber that waits meanwhile, nor who gets its stack by one that has not ended it.
TEST_P(NoYield, OnlyTheFiberItself) {
  run_beside_other([&] {
    std::atomic<bool> held{false}, go_on{false}, ended{false};
    spawn_detached([&] {
      const sennit::no_yield_guard guard;
      held = true;
      while (!go_on)
        yield();
      EXPECT_EQ(*sennit::detail::no_yield_count(), 1u);
      ended = true;
    });
    while (!held)
      yield();
    EXPECT_TRUE(gives_way());
    go_on = true;
    while (!ended)
      yield();
    for (int i = 0; i < 2; ++i) {
      const auto fails = [] {
        EXPECT_EQ(*sennit::detail::no_yield_count(), 0u);
        sennit_no_yield_begin();
        throw std::runtime_error("planted");
      };
      EXPECT_THROW(spawn_and_join(fails), std::runtime_error);
    }
  });
}

TEST_P(NoYield, InAHandlerOnItsOwnStack) {
  static NoYield* test;
  static std::atomic<bool> gave_way;
  test = this;
  gave_way = true;
  run_beside_other([&] {
    struct sigaction action{};
    struct sigaction former;
    action.sa_handler = [](int) { gave_way = test->gives_way(); };
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, &former);
    pthread_kill(pthread_self(), SIGUSR1);
    sigaction(SIGUSR1, &former, nullptr);
    EXPECT_FALSE(gave_way);
    EXPECT_TRUE(gives_way());
  });
}

TEST_P(NoYield, InAForkedChild) {
  if (workers > 1)
    return;  // the other worker is not in the child
  run_beside_other([&] {
    const pid_t child = fork();
    if (child == 0)
      _exit(gives_way());
    int status = 1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(gives_way());
  });
}

INSTANTIATE_TEST_SUITE_P(Runtimes, NoYield, testing::Values(0u, 1u), support::runtime_name);

TEST(NoYieldOutsideOfFibers, IsNothing) {
  sennit_no_yield_begin();
  sennit_no_yield_end();
  const sennit::no_yield_guard guard;
  const sennit::detail::faults_are_fatal<true> with_lock;
  sennit_forced_yield();
}

}  // namespace
