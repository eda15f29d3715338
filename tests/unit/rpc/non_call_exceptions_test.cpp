// verdict::unwind, in code that was compiled with -fnon-call-exceptions.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sennit/exception_server.hpp"
#include "sennit/generator.hpp"
#include "sennit/runtime.hpp"
#include "support/child.hpp"
#include "support/fault_kinds.hpp"

namespace {

using namespace sennit;

#if defined(SENNIT_NON_CALL_EXCEPTIONS)

volatile int* const nowhere = nullptr;

// Nothing is called here that might throw.
[[gnu::noinline]] void fault(const std::shared_ptr<int>& owned) {
  const auto held = owned;
  *nowhere = 1;
}

TEST(NonCallExceptions, AKilledFiberLeavesNothingBehind) {
  if (!serves_faults)
    GTEST_SKIP() << "faults are not served in this build";
  const support::outcome result = support::in_child([] {
    runtime({.workers = 2}).run([] {
      exception_server server;
      const auto owned = std::make_shared<int>(1);
      auto kills = spawn([&] {
        for (int i = 0; i < 100; ++i)
          server.receive().reply(verdict::unwind);
      });
      for (int i = 0; i < 100; ++i)
        spawn([&, held = owned]() {
          const exception_guard guard(server);
          const std::string on_the_heap(100, 'x');
          fault(held);
        }).join();
      kills.join();
      EXPECT_EQ(owned.use_count(), 1);
    });
  });
  EXPECT_TRUE(result.exited(0)) << result;
  EXPECT_EQ(result.said, "") << result;
}

// The exception comes out of a generator, too.
TEST(NonCallExceptions, AreThrownThroughGenerators) {
  if (!serves_faults)
    GTEST_SKIP() << "faults are not served in this build";
  const support::outcome result = support::in_child([] {
    runtime({.workers = 1}).run([] {
      exception_server server;
      const auto owned = std::make_shared<int>(1);
      auto unwinds = spawn([&] { server.receive().reply(verdict::unwind); });
      spawn([&] {
        const exception_guard guard(server);
        const auto held = owned;
        generator<int> body([&, owned](auto& yield) {
          yield(1);
          fault(owned);
          yield(2);
        });
        for (int each : body)
          EXPECT_EQ(each, 1);
      }).join();
      unwinds.join();
      EXPECT_EQ(owned.use_count(), 1);
    });
  });
  EXPECT_TRUE(result.exited(0)) << result;
  EXPECT_EQ(result.said, "") << result;
}

struct counts_its_end {
  int& ended;
  ~counts_its_end() { ++ended; }
};

// Faults of each kind. A fiber that catches the exception continues.
TEST(NonCallExceptions, AreThrownByEachKindOfFault) {
  if (!serves_faults)
    GTEST_SKIP() << "faults are not served in this build";
  for (const support::kind_of_fault& each : support::kinds_of_faults) {
    const support::outcome result = support::in_child([&] {
      const support::fault_cause cause(each);
      int ended = 0, caught = 0, went_on = 0;
      runtime({.workers = 2}).run([&] {
        exception_server server;
        auto unwinds = spawn([&] {
          for (int i = 0; i < 10; ++i) {
            auto fault = server.receive();
            EXPECT_EQ(fault.kind(), each.kind);
            fault.reply(verdict::unwind);
          }
        });
        spawn([&] {
          const exception_guard guard(server);
          const counts_its_end outermost{ended};
          for (int i = 0; i < 10; ++i)
            try {
              const counts_its_end mine{ended};
              cause.use();
              ++went_on;
            } catch (const killed&) {
              ++caught;
            }
        }).join();
        unwinds.join();
      });
      EXPECT_EQ(caught, 10);
      EXPECT_EQ(went_on, 0);
      EXPECT_EQ(ended, 11);
    });
    EXPECT_TRUE(result.exited(0)) << each << ": " << result;
    EXPECT_EQ(result.said, "") << each;
  }
}
#else
TEST(NonCallExceptions, AKilledFiberLeavesNothingBehind) {
  GTEST_SKIP() << "this compiler has no -fnon-call-exceptions";
}
#endif

}  // namespace
