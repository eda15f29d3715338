// A fiber that does not leave when its runtime ends is reported, because the program may seem to hang.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "sennit/local/runtime.hpp"
#include "sennit/runtime.hpp"
#include "support/reports.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

// A runtime's end, with a fiber that catches whatever ends its waits, as the loop of a server is often
// written, for longer than it takes until that is reported.
template <class Runtime, class Wait>
void end_late(const char* name, Wait wait) {
  Runtime runtime;
  const auto catch_all = [wait] {
    const auto until = std::chrono::steady_clock::now() + detail::late_end + 300ms;
    while (std::chrono::steady_clock::now() < until) {
      try {
        wait();
      } catch (...) {
      }
    }
  };
  runtime.spawn(catch_all, {.name = name}).detach();
  runtime.run([] {});
}

// All at a time, for each takes seconds.
TEST(LateEnd, IsSaidOnce) {
  const stderr_file errors;
  {
    std::vector<std::jthread> ends;
    ends.emplace_back(
        [] { end_late<local::runtime>("local, sleeps", [] { local::this_fiber::sleep_for(250ms); }); });
    ends.emplace_back([] { end_late<local::runtime>("local, yields", [] { local::this_fiber::yield(); }); });
    ends.emplace_back([] { end_late<runtime>("sleeps", [] { this_fiber::sleep_for(250ms); }); });
    ends.emplace_back([] { end_late<runtime>("yields", [] { this_fiber::yield(); }); });
  }
  for (const char* who :
       {"local, sleeps\" (sleep", "local, yields\" (", "fiber \"sleeps\" (sleep", "fiber \"yields\" ("})
    EXPECT_EQ(errors.count(who), 1) << who << "\n" << errors.text();
  EXPECT_EQ(errors.count("sennit: a runtime cannot end yet: fiber \""), 4);
  EXPECT_EQ(errors.count("has not: it caught its unwinding (a catch (...) must rethrow it)"), 4);
}

}  // namespace
}  // namespace sennit
