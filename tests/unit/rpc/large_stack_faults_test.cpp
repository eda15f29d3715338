// Faults in calls on large stacks, whose frames a kill leaves together with the caller's.
#include <gtest/gtest.h>

#include <stop_token>

#include "exception_servers.hpp"
#include "sennit/exception_server.hpp"
#include "sennit/on_large_stack.hpp"
#include "sennit/stop_guard.hpp"
#include "support/faults.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

int* volatile nowhere = nullptr;

volatile int deepest = -1;
[[gnu::noinline]] int overflow(int depth) {
  volatile char frame[4096];
  frame[0] = 1;
  return depth == deepest ? 0 : overflow(depth + 1) + frame[0];
}

template <class Kind>
class LargeStackFaults : public kind_test<Kind> {};

KIND_TEST(LargeStackFaults, AKillLeavesTheCallAndItsGuards) {
  if (!serves_faults)
    GTEST_SKIP() << "faults are not served in this build";
  this->run([] {
    typename Kind::exception_server server;
    std::stop_source stop;
    auto serving = Kind::spawn([&] {
      const stop_guard guard(stop.get_token());
      for (;;)
        server.receive().reply(verdict::kill);
    });
    std::stop_source unrelated;
    Kind::spawn([&] {
      for (int round = 0; round < 20; ++round) {
        const auto fault = [&] {
          on_large_stack([&] {
            const stop_guard inside(unrelated.get_token());
            if (round % 2 == 0)
              write_to(nowhere);
            else
              overflow(0);
          });
        };
        EXPECT_THROW(guarded(server, fault), killed);
        EXPECT_EQ(on_large_stack([&] {
                    EXPECT_THROW(guarded(server, [] { write_to(nowhere); }), killed);
                    return 7;
                  }),
                  7);
      }
      unrelated.request_stop();
      Kind::yield();  // by a guard that was left behind this would throw
    }).join();
    stop.request_stop();
    serving.join();
  });
}

}  // namespace
}  // namespace sennit
