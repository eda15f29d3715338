// How often workers look at what comes from outside: seldom where fibers take turns quickly, but soon enough.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include "sennit/detail/sched/worker.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using detail::longest_poll_interval;
using detail::look_period;
using detail::poll_interval;

TEST(LookPace, DoublesWhereLooksFollowEachOtherQuickly) {
  detail::look_pace pace;
  EXPECT_EQ(pace.next(look_period), poll_interval);
  unsigned dispatches = poll_interval;
  while (dispatches < longest_poll_interval)
    EXPECT_EQ(pace.next(look_period - 1), dispatches *= 2);
  EXPECT_EQ(dispatches, longest_poll_interval);
  EXPECT_EQ(pace.next(0), longest_poll_interval);
  EXPECT_EQ(pace.next(4 * look_period), longest_poll_interval);
  EXPECT_EQ(pace.next(4 * look_period + 1), poll_interval);
}

TEST(LookPace, IsForgottenByAnEarlyLook) {
  detail::look_pace pace;
  pace.next(0);
  pace.often();
  EXPECT_EQ(pace.next(look_period), poll_interval);
}

template <class Kind>
class LooksOutside : public kind_test<Kind> {
protected:
  // How many looks the worker makes meanwhile: each notes when it was made.
  static unsigned in(unsigned yields, std::chrono::nanoseconds each) {
    const std::uint64_t& noted = detail::this_worker()->now;
    std::uint64_t last = noted;
    unsigned looks = 0;
    for (unsigned i = 0; i < yields; ++i) {
      for (const auto end = std::chrono::steady_clock::now() + each;
           std::chrono::steady_clock::now() < end;) {
      }
      Kind::yield();
      looks += std::exchange(last, noted) != noted;
    }
    return looks;
  }
};

KIND_TEST(LooksOutside, AreNeverFurtherApartThanTheLongestInterval) {
  this->run([&] {
    this->in(10 * longest_poll_interval, {});
    EXPECT_GE(this->in(10 * longest_poll_interval, {}), 9u);
  });
}

KIND_TEST(LooksOutside, AreMadeOftenAgainOnceTurnsTakeLong) {
  this->run([&] {
    this->in(10 * longest_poll_interval, {});
    constexpr std::chrono::nanoseconds slow(4 * look_period / poll_interval + 1);
    this->in(longest_poll_interval + poll_interval, slow);  // the first that looks back on such turns alone
    EXPECT_GE(this->in(10 * poll_interval, slow), 9u);
  });
}

}  // namespace
}  // namespace sennit
