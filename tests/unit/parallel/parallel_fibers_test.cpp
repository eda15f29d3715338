// Fibers of a parallel runtime, wherever they go: where they may run, and what goes with them.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cfenv>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "sennit/generator.hpp"
#include "sennit/runtime.hpp"
#include "support/busy_workers.hpp"
#include "support/fp_control.hpp"
#include "unit/runtime/parallel_kinds.hpp"
// Last.
#include "sennit/errno.h"

namespace {

using namespace sennit;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

class ParallelFibers : public parallel_test::parallel_runtime {};

INSTANTIATE_TEST_SUITE_P(Workers, ParallelFibers, parallel_test::kinds, parallel_test::kind_name);

TEST_P(ParallelFibers, PinnedFibersStay) {
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

TEST_P(ParallelFibers, NobodyIsPinnedToAWorkerThatThereIsNot) {
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
TEST_P(ParallelFibers, HintsSayWhereToBegin) {
  constexpr unsigned nowhere = ~0u;
  const auto expect_to_begin = [&](unsigned from, unsigned to) {
    std::vector<std::unique_ptr<support::held_worker>> held(workers);
    for (unsigned i = 0; i < workers; ++i)
      if (i != from)
        held[i] = std::make_unique<support::held_worker>(rt, i);
    std::atomic<unsigned> began{nowhere};
    const auto spawner = [&] {
      detail::running_parallel().last_watch = steady::now() + 1h;  // it does not serve those that are held
      fiber hinted = spawn([&] { began = this_fiber::worker(); }, {.near = to});
      const auto end = steady::now() + 10s;
      const auto is_over = [&] { return began != nowhere || steady::now() > end; };
      if (from == to) {
        while (!is_over())
          this_fiber::yield();
      } else {
        for (unsigned i = 0; i < 2 * detail::longest_poll_interval; ++i)
          this_fiber::yield();
        EXPECT_EQ(began, nowhere);
        held[to]->let_go();
        support::spin_until(is_over);
      }
      EXPECT_EQ(began, to) << "from " << from;
      held.clear();
      hinted.join();
      detail::running_parallel().last_watch = {};
    };
    rt.spawn(spawner, {.pinned = from}).join();
  };
  for (unsigned to = 0; to < workers; ++to)
    for (const unsigned from : {to, (to + 1) % workers})
      expect_to_begin(from, to);
}

TEST_P(ParallelFibers, NamesAndNumbers) {
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

TEST_P(ParallelFibers, StacksOfOtherSizes) {
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

TEST_P(ParallelFibers, ErrnoIsKeptByWhatBlocks) {
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
TEST_P(ParallelFibers, FpControlStateIsKeptByFibersThatAsk) {
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

}  // namespace
