// How often workers look at what comes from outside: seldom where fibers take turns quickly, but soon enough.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "sennit/detail/sched/worker.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using detail::longest_look_period;
using detail::longest_poll_interval;
using detail::look_pace;
using detail::look_result;
using detail::poll_interval;
using detail::shortest_look_period;

// So many in vain, one soon after the other. How many dispatches lie before the next.
unsigned after_quick_looks(look_pace& pace, unsigned looks) {
  unsigned dispatches = 0;
  for (unsigned i = 0; i < looks; ++i)
    dispatches = pace.next(shortest_look_period - 1, look_result::in_vain);
  return dispatches;
}

TEST(LookPace, DoublesWhileQuickLooksFindNothing) {
  look_pace pace(run_policy::fifo);
  unsigned dispatches = poll_interval;
  while (dispatches < longest_poll_interval) {
    EXPECT_EQ(after_quick_looks(pace, pace.patience), dispatches);
    EXPECT_EQ(pace.next(0, look_result::in_vain), dispatches *= 2);
  }
  EXPECT_EQ(dispatches, longest_poll_interval);
  EXPECT_EQ(after_quick_looks(pace, 2 * pace.patience), longest_poll_interval);
}

TEST(LookPace, StaysAsItIsBetweenThePeriods) {
  look_pace pace(run_policy::fifo);
  after_quick_looks(pace, pace.patience + 1);
  for (unsigned i = 0; i < 2 * pace.patience; ++i)
    for (const std::uint64_t passed : {shortest_look_period, longest_look_period})
      EXPECT_EQ(pace.next(passed, look_result::in_vain), 2 * poll_interval);
}

TEST(LookPace, IsAsAtFirstOnceSomethingIsFoundOrThereWasARest) {
  for (const look_result what : {look_result::found, look_result::rested}) {
    look_pace pace(run_policy::fifo);
    after_quick_looks(pace, 3 * pace.patience);
    EXPECT_EQ(pace.next(shortest_look_period, what), poll_interval);
    EXPECT_EQ(after_quick_looks(pace, pace.patience), poll_interval);
  }
  look_pace pace(run_policy::fifo);
  after_quick_looks(pace, 3 * pace.patience);
  pace.often();
  EXPECT_EQ(after_quick_looks(pace, pace.patience), poll_interval);
}

TEST(LookPace, HalvesWhileLooksAreFarApartAndDoublesAgain) {
  for (const look_result what : {look_result::in_vain, look_result::found}) {
    look_pace pace(run_policy::hybrid);
    after_quick_looks(pace, 10 * pace.patience);
    unsigned dispatches = poll_interval;
    while (dispatches > 1)
      EXPECT_EQ(pace.next(longest_look_period + 1, what), dispatches /= 2);
    EXPECT_EQ(pace.next(longest_look_period + 1, what), 1u);
    EXPECT_EQ(pace.next(~std::uint64_t{0}, look_result::rested), 1u);
    while (dispatches < poll_interval)
      EXPECT_EQ(pace.next(0, what), dispatches = std::min(2 * dispatches, poll_interval));
    EXPECT_EQ(after_quick_looks(pace, pace.patience), poll_interval);
  }
}

TEST(LookPace, IsWithLifoNeverMoreFrequentThanAtFirst) {
  look_pace pace(run_policy::lifo);
  after_quick_looks(pace, pace.patience + 1);
  for (const look_result what : {look_result::in_vain, look_result::found, look_result::rested})
    EXPECT_EQ(pace.next(longest_look_period + 1, what), poll_interval);
  EXPECT_EQ(after_quick_looks(pace, pace.patience + 1), 2 * poll_interval);
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

KIND_TEST(LooksOutside, AreMadeAtEachTurnOnceTurnsTakeLong) {
  const unsigned turns = Kind::wish.policy == run_policy::lifo ? poll_interval : 1;
  this->run([&] {
    this->in(20 * longest_poll_interval, {});
    constexpr std::chrono::nanoseconds slow(longest_look_period / 2 + 1);
    this->in(longest_poll_interval + 2 * poll_interval, slow);
    EXPECT_GE(this->in(10 * turns, slow), 9u);
  });
}

}  // namespace
}  // namespace sennit
