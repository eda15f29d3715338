// Faults in calls on large stacks, whose frames a kill leaves together with the caller's.
#include <gtest/gtest.h>

#include <cstddef>
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
template <std::size_t Size>
[[gnu::noinline]] int overflow(int depth) {
  volatile char frame[Size];
  frame[0] = 1;
  return depth == deepest ? 0 : overflow<Size>(depth + 1) + frame[0];
}

// Where an overflow faults, the stack pointer lies in the guard or still above it.
int overflow_by_one_of_several_frames(int which) {
  return which % 3 == 0 ? overflow<4096>(0) : which % 3 == 1 ? overflow<1000>(0) : overflow<3000>(0);
}

// Static storage has lower addresses than any large stack; a stack that Sennit maps may have higher ones.
alignas(16) std::byte static_stack[64 * 1024];

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
    const auto faults = [&] {
      for (int round = 0; round < 20; ++round) {
        const auto fault = [&] {
          on_large_stack([&] {
            const stop_guard inside(unrelated.get_token());
            if (round % 2 == 0)
              write_to(nowhere);
            else
              overflow_by_one_of_several_frames(round / 2);
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
    };
    Kind::spawn(faults).join();
    unrelated = {};
    Kind::spawn(faults, {.stack = static_stack}).join();
    stop.request_stop();
    serving.join();
  });
}

}  // namespace
}  // namespace sennit
