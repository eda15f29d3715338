// Beginnings and ends: runtimes that come and go, forks, exit() and static destruction with fibers parked.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sennit/local/channel.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/offload.hpp"
#include "support/child.hpp"
#include "support/instructions.hpp"
#include "support/process.hpp"

namespace sennit::inline v0_1::local {
namespace {

using namespace std::chrono_literals;
using support::count_mappings;
using support::in_child;
using support::open_descriptors;

// What a parked fiber holds; says when it is let go.
struct held {
  explicit held(const char* t) : text(t) {}
  ~held() {
    std::fputs(text, stdout);
    std::fflush(stdout);
  }
  const char* text;
};

void use_a_runtime() {
  runtime rt;
  rt.run([] {
    std::vector<fiber> fibers;
    for (int i = 0; i < 50; ++i)
      fibers.push_back(spawn([] { this_fiber::yield(); }));
    for (int i = 0; i < 10; ++i)
      spawn([] { this_fiber::park(); }).detach();  // unwound at the end
    this_fiber::sleep_for(100us);
    for (auto& each : fibers)
      each.join();
  });
}

TEST(Lifetime, RuntimesComeAndGoAndLeaveNothing) {
  use_a_runtime();  // what stays for good: pools
  const auto descriptors = open_descriptors();
  [[maybe_unused]] const auto mappings = count_mappings();
  for (int i = 0; i < 300; ++i)
    use_a_runtime();
  EXPECT_EQ(open_descriptors(), descriptors);
#if !defined(SUPPORT_TSAN) && !defined(SUPPORT_ASAN)  // they map for themselves
  EXPECT_LE(count_mappings(), mappings + 2);          // malloc may have taken one more
#endif
}

#if defined(SUPPORT_COUNTS_INSTRUCTIONS)
long instructions_of_a_runtime() {
  return support::instructions_of([] {
    runtime().run([] {});  // what only the first of a process does
    support::mark();
    runtime().run([] {});
    support::mark();
  });
}

// (A descriptor that another test still has would cost it a look at its neighbours.)
TEST(Lifetime, ARuntimesEndCostsNoMoreWhereManyFibersHaveBeen) {
  if (!support::is_new_program())
    return support::in_new_program([] {});
  const long before = instructions_of_a_runtime();
  if (before == -1)
    GTEST_SKIP() << "processes must not be traced here";
  EXPECT_GT(before, 0);
  runtime().run([] {
    for (int i = 0; i < 5000; ++i)
      spawn([] { this_fiber::yield(); }, {.stack_size = 4096}).detach();
  });
  EXPECT_LT(instructions_of_a_runtime(), 2 * before);
}
#endif

TEST(Lifetime, ThreadsComeAndGoWithTheirRuntimes) {
  std::thread(use_a_runtime).join();
  const auto descriptors = open_descriptors();
  for (int i = 0; i < 50; ++i)
    std::thread(use_a_runtime).join();
  EXPECT_EQ(open_descriptors(), descriptors);
}

TEST(Lifetime, ARuntimeInAForkedChildIsRefusedWithTheReason) {
  runtime rt;
  rt.run([] {});
  const auto outcome = in_child([&] { rt.run([] {}); });
  EXPECT_TRUE(outcome.killed_by(SIGABRT)) << outcome;
  EXPECT_TRUE(outcome.says("after fork(), the child may only exec")) << outcome;
  EXPECT_EQ(rt.run([] { return 1; }), 1) << "the parent goes on";
}

TEST(Lifetime, ARuntimeRunInsideOfAFiberIsRefusedWithTheReason) {
  const auto outcome = in_child([] {
    runtime rt;
    rt.run([&] { rt.run([] {}); });
  });
  EXPECT_TRUE(outcome.killed_by(SIGABRT)) << outcome;
  EXPECT_TRUE(outcome.says("run inside of a fiber")) << outcome;
}

TEST(Lifetime, WhatBlocksOutsideOfAFiberSaysSo) {
  const auto sleeping = in_child([] { this_fiber::sleep_for(1ms); });
  EXPECT_TRUE(sleeping.killed_by(SIGABRT)) << sleeping;
  EXPECT_TRUE(sleeping.says("this_fiber::sleep: there is no fiber here")) << sleeping;
  const auto parking = in_child([] {
    const runtime rt;  // which does not run
    this_fiber::park();
  });
  EXPECT_TRUE(parking.killed_by(SIGABRT)) << parking;
  EXPECT_TRUE(parking.says("this_fiber::park: there is no fiber here")) << parking;
  const auto yielding = in_child([] { this_fiber::yield(); });
  EXPECT_TRUE(yielding.killed_by(SIGABRT)) << yielding;
  EXPECT_TRUE(yielding.says("this_fiber::yield: there is no fiber here")) << yielding;
  const auto joining = in_child([] {
    runtime rt;
    fiber waited_for = rt.spawn([] {});
    waited_for.join();
  });
  EXPECT_TRUE(joining.killed_by(SIGABRT)) << joining;
  EXPECT_TRUE(joining.says("join: there is no fiber here")) << joining;
}

TEST(Lifetime, AForkInAFiberMayExecAndTheParentGoesOn) {
  runtime rt;
  rt.run([] {
    const pid_t child = fork();
    if (child == 0) {
      ::execl("/bin/sh", "sh", "-c", "exit 5", nullptr);
      _exit(127);
    }
    int status = 0;
    ASSERT_EQ(sennit::offload([&] { return ::waitpid(child, &status, 0); }), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 5);
    this_fiber::sleep_for(1ms);
  });
}

TEST(Lifetime, AForkedChildMayMakeARuntimeOfItsOwn) {
#if defined(SUPPORT_TSAN)
  GTEST_SKIP() << "ThreadSanitizer ends a child that starts threads";
#elif defined(SUPPORT_EMULATED)
  GTEST_SKIP() << "qemu-user cannot start a thread in a child";
#endif
  runtime before;
  before.run([] { sennit::offload([] {}); });
  const auto outcome = in_child([] {
    use_a_runtime();
    runtime rt;
    EXPECT_EQ(rt.run([] { return sennit::offload([] { return 7; }); }), 7);
  });
  EXPECT_TRUE(outcome.exited(0)) << outcome;
}

TEST(Lifetime, AForkedChildThatExitsLeavesTheParentsFibersAlone) {
  const auto outcome = in_child([] {
    static runtime rt;
    rt.run([] {
      spawn([] {
        held it("let go\n");
        this_fiber::park();
      }).detach();
      this_fiber::yield();
    });
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0)
      std::exit(0);  // destroys its copy of rt
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    std::printf("child gone\n");
    std::exit(testing::Test::HasFailure() ? support::test_failed : 0);
  });
  EXPECT_TRUE(outcome.exited(0)) << outcome;
  EXPECT_EQ(outcome.said, "child gone\nlet go\n");
}

TEST(Lifetime, ExitInAFiberWhileOthersAreParked) {
  const auto outcome = in_child([] {
    runtime rt;
    rt.run([] {
      for (int i = 0; i < 5; ++i)
        spawn([] { this_fiber::park(); }).detach();
      this_fiber::yield();
      std::exit(7);
    });
  });
  EXPECT_TRUE(outcome.exited(7)) << outcome;
}

TEST(Lifetime, AStaticRuntimeUnwindsItsFibersAtExit) {
  const auto outcome = in_child([] {
    static channel<int> numbers;  // outlives who waits in it
    static runtime rt;
    rt.run([] {
      spawn([] {
        held it("receiver let go\n");
        numbers.receive();
      }).detach();
      spawn([] {
        held it("sleeper let go\n");
        this_fiber::sleep_for(1h);
      }).detach();
      this_fiber::yield();
    });
    std::exit(0);
  });
  EXPECT_TRUE(outcome.exited(0)) << outcome;
  EXPECT_TRUE(outcome.says("receiver let go\n")) << outcome;
  EXPECT_TRUE(outcome.says("sleeper let go\n")) << outcome;
}

TEST(Lifetime, AThreadMayEndWhileItsRuntimeLivesOn) {
  auto rt = std::make_unique<runtime>();
  int steps = 0;
  std::thread([&] {
    rt->run([&] {
      spawn([&] {
        ++steps;
        this_fiber::sleep_for(5ms);
        ++steps;
      }).detach();
      this_fiber::yield();
    });
  }).join();
  EXPECT_EQ(steps, 1);
  rt->run([] { this_fiber::sleep_for(20ms); });  // on another thread
  EXPECT_EQ(steps, 2);
}

}  // namespace
}  // namespace sennit::inline v0_1::local
