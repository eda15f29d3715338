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

// Of so many looks in vain, one soon after the other.
unsigned after_quick_looks(detail::look_pace& pace, unsigned looks) {
  unsigned dispatches = 0;
  for (unsigned i = 0; i < looks; ++i)
    dispatches = pace.next(look_period - 1, false);
  return dispatches;
}

TEST(LookPace, DoublesWhileQuickLooksFindNothing) {
  detail::look_pace pace;
  EXPECT_EQ(after_quick_looks(pace, pace.patience - 1), poll_interval);
  unsigned dispatches = poll_interval;
  while (dispatches < longest_poll_interval) {
    EXPECT_EQ(pace.next(0, false), dispatches *= 2);
    EXPECT_EQ(after_quick_looks(pace, pace.patience - 1), dispatches);
  }
  EXPECT_EQ(dispatches, longest_poll_interval);
  EXPECT_EQ(after_quick_looks(pace, 2 * pace.patience), longest_poll_interval);
}

TEST(LookPace, StaysAsItIsWhereLooksAreAPeriodApart) {
  detail::look_pace pace;
  after_quick_looks(pace, pace.patience);
  for (unsigned i = 0; i < 2 * pace.patience; ++i)
    EXPECT_EQ(pace.next(look_period, false), 2 * poll_interval);
  EXPECT_EQ(pace.next(4 * look_period, false), 2 * poll_interval);
}

TEST(LookPace, IsAsAtFirstOnceSomethingIsFoundOrALookComesLateOrEarly) {
  for (const int how : {0, 1, 2}) {
    detail::look_pace pace;
    after_quick_looks(pace, 3 * pace.patience - 1);
    if (how == 0)
      EXPECT_EQ(pace.next(0, true), poll_interval);
    else if (how == 1)
      EXPECT_EQ(pace.next(4 * look_period + 1, false), poll_interval);
    else
      pace.often();
    EXPECT_EQ(after_quick_looks(pace, pace.patience - 1), poll_interval) << how;
  }
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
    this->in(20 * longest_poll_interval, {});
    EXPECT_GE(this->in(10 * longest_poll_interval, {}), 9u);
  });
}

KIND_TEST(LooksOutside, AreMadeOftenAgainOnceTurnsTakeLong) {
  this->run([&] {
    this->in(20 * longest_poll_interval, {});
    constexpr std::chrono::nanoseconds slow(4 * look_period / poll_interval + 1);
    this->in(longest_poll_interval + poll_interval, slow);  // the first that looks back on such turns alone
    EXPECT_GE(this->in(10 * poll_interval, slow), 9u);
  });
}

}  // namespace
}  // namespace sennit
