// The handlers of faults of each kind that no exception server answers.
#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "sennit/generator.hpp"
#include "sennit/local/exception_server.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/runtime.hpp"
#include "support/child.hpp"
#include "support/fault_kinds.hpp"

namespace {

using namespace sennit;
using support::fault_cause;
using support::in_child;
using support::kind_of_fault;
using support::outcome;
using support::say;

using action = std::function<void()>;

class FaultKinds : public testing::TestWithParam<kind_of_fault> {
protected:
  static void install_earlier(int flags);
  static outcome fault_twice(int flags, const std::function<void(action)>& run);
};

INSTANTIATE_TEST_SUITE_P(, FaultKinds, testing::ValuesIn(support::kinds_of_faults),
                         [](const auto& test) -> std::string {
                           switch (test.param.kind) {
                             case detail::fault_kind::memory:
                               return "Memory";
                             case detail::fault_kind::bus:
                               return "Bus";
                             case detail::fault_kind::instruction:
                               return "Instruction";
                             default:
                               return "Arithmetic";
                           }
                         });

void in_fiber(const action& function) {
  local::runtime().run([&] { local::spawn(function, {.name = "faulty"}).join(); });
}

TEST_P(FaultKinds, WithoutAServerItEndsTheProcessByItsSignalAndNamesTheFiber) {
  const outcome result = in_child([] {
    const fault_cause cause(GetParam());
    in_fiber([&] { cause.use(); });
    say("went on\n");
  });
#if !defined(SENNIT_SANITIZED)
  EXPECT_TRUE(GetParam().is_reported(result, "faulty")) << result;
#endif
  EXPECT_FALSE(result.says("went on")) << result;
  EXPECT_TRUE(result.ended_by_fault(GetParam().signal)) << result;
}

TEST_P(FaultKinds, OutsideOfAnyFiberItEndsTheProcessByItsSignalAndNothingIsSaid) {
  const outcome result = in_child([] {
    const fault_cause cause(GetParam());
    in_fiber([] {});
    cause.use();
  });
  EXPECT_FALSE(result.says("sennit: ")) << result;
  EXPECT_TRUE(result.ended_by_fault(GetParam().signal)) << result;
}

// Not when its threads get to it: whose handler is installed first is not to be a race.
TEST(FaultHandler, IsThereOnceARuntimeIsMade) {
  const auto expect_by = [](auto make) {
    const outcome result = in_child([&] {
      const auto handled = [] {
        struct sigaction now = {};
        sigaction(SIGFPE, nullptr, &now);
        return now.sa_handler != SIG_DFL;
      };
      ::signal(SIGFPE, SIG_DFL);  // what other tests have installed
      std::thread([&] {
        EXPECT_FALSE(handled());
        const auto made = make();
        EXPECT_TRUE(handled());
      }).join();
    });
    EXPECT_TRUE(result.exited(0)) << result;
  };
  expect_by([] { return std::make_unique<local::runtime>(); });
  expect_by([] { return std::make_unique<runtime>(runtime_options{.workers = 2}); });
}

#if defined(__x86_64__) || defined(__aarch64__)

// ---- A handler that was there before ours.

const fault_cause* to_repair;

void FaultKinds::install_earlier(int flags) {
  struct sigaction earlier = {};
  sigemptyset(&earlier.sa_mask);
  earlier.sa_flags = SA_SIGINFO | flags;
  earlier.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
    auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    auto& pc = machine.gregs[REG_RIP];
#else
    auto& pc = machine.pc;
#endif
    const bool as_it_was =
        info->si_signo == signal && info->si_addr == to_repair->address(static_cast<std::uint64_t>(pc));
    say(as_it_was ? "earlier handler\n" : "called wrongly\n");
    to_repair->repair(pc);
  };
  ::signal(GetParam().signal, SIG_DFL);  // of a sanitizer's there is nothing left
  sigaction(GetParam().signal, &earlier, nullptr);
}

// In a child with such a handler: a fiber that faults twice.
outcome FaultKinds::fault_twice(int flags, const std::function<void(action)>& run) {
  return in_child([&] {
    const fault_cause cause(GetParam());
    to_repair = &cause;
    install_earlier(flags);
    run([&] {
      for (int i = 0; i < 2; ++i) {
        cause.use();
        cause.breaks_again();
      }
    });
  });
}

TEST_P(FaultKinds, WithoutAServerAnEarlierHandlerGetsItAndMayRepairIt) {
  const outcome result = fault_twice(0, in_fiber);
  EXPECT_TRUE(result.exited(0)) << result;
  EXPECT_EQ(result.said, "earlier handler\nearlier handler\n");
}

TEST_P(FaultKinds, AnEarlierHandlerThatIsForOneFaultGetsOne) {
  const outcome result = fault_twice(static_cast<int>(SA_RESETHAND), in_fiber);
  EXPECT_EQ(result.said.find("earlier handler\n"), result.said.rfind("earlier handler\n")) << result;
#if !defined(SENNIT_SANITIZED)
  EXPECT_TRUE(GetParam().is_reported(result, "faulty")) << result;
#endif
  EXPECT_TRUE(result.says("earlier handler\n")) << result;
  EXPECT_TRUE(result.ended_by_fault(GetParam().signal)) << result;
}

TEST_P(FaultKinds, WhatAServerPassesOnAnEarlierHandlerGets) {
  if (!detail::fault_redirects)
    GTEST_SKIP() << "faults are not redirected in this build";
  const outcome result = fault_twice(0, [](const action& faults) {
    local::runtime().run([&] {
      local::exception_server server;
      auto passes = local::spawn([&] {
        for (int i = 0; i < 2; ++i) {
          auto fault = server.receive();
          say("server\n");
          fault.reply(verdict::pass);
        }
      });
      local::spawn([&] {
        const local::exception_guard guard(server);
        faults();
      }).join();
      passes.join();
    });
  });
  EXPECT_TRUE(result.exited(0)) << result;
  EXPECT_EQ(result.said, "server\nearlier handler\nserver\nearlier handler\n") << result;
}

#endif

}  // namespace
