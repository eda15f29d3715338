// How often workers poll for external events: seldom while dispatches are quick, but soon enough.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "sennit/detail/sched/worker.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using detail::adaptive_poll_interval;
using detail::longest_poll_interval;
using detail::longest_poll_period;
using detail::poll_interval;
using detail::poll_result;
using detail::shortest_poll_period;

// So many in vain, one soon after the other. How many dispatches lie before the next.
unsigned after_quick_polls(adaptive_poll_interval& pace, unsigned polls) {
  unsigned dispatches = 0;
  for (unsigned i = 0; i < polls; ++i)
    dispatches = pace.next(shortest_poll_period - 1, poll_result::nothing);
  return dispatches;
}

TEST(AdaptivePollInterval, DoublesWhileQuickPollsFindNothing) {
  adaptive_poll_interval pace(run_policy::fifo);
  unsigned dispatches = poll_interval;
  while (dispatches < longest_poll_interval) {
    EXPECT_EQ(after_quick_polls(pace, pace.patience), dispatches);
    EXPECT_EQ(pace.next(0, poll_result::nothing), dispatches *= 2);
  }
  EXPECT_EQ(dispatches, longest_poll_interval);
  EXPECT_EQ(after_quick_polls(pace, 2 * pace.patience), longest_poll_interval);
}

TEST(AdaptivePollInterval, StaysAsItIsBetweenThePeriods) {
  adaptive_poll_interval pace(run_policy::fifo);
  after_quick_polls(pace, pace.patience + 1);
  for (unsigned i = 0; i < 2 * pace.patience; ++i)
    for (const std::uint64_t passed : {shortest_poll_period, longest_poll_period})
      EXPECT_EQ(pace.next(passed, poll_result::nothing), 2 * poll_interval);
}

TEST(AdaptivePollInterval, IsAsAtFirstOnceSomethingIsFoundOrThereWasARest) {
  for (const poll_result what : {poll_result::found, poll_result::rested}) {
    adaptive_poll_interval pace(run_policy::fifo);
    after_quick_polls(pace, 3 * pace.patience);
    EXPECT_EQ(pace.next(shortest_poll_period, what), poll_interval);
    EXPECT_EQ(after_quick_polls(pace, pace.patience), poll_interval);
  }
  adaptive_poll_interval pace(run_policy::fifo);
  after_quick_polls(pace, 3 * pace.patience);
  pace.often();
  EXPECT_EQ(after_quick_polls(pace, pace.patience), poll_interval);
}

TEST(AdaptivePollInterval, HalvesWhilePollsAreFarApartAndDoublesAgain) {
  for (const poll_result what : {poll_result::nothing, poll_result::found}) {
    adaptive_poll_interval pace(run_policy::hybrid);
    after_quick_polls(pace, 10 * pace.patience);
    unsigned dispatches = poll_interval;
    while (dispatches > 1)
      EXPECT_EQ(pace.next(longest_poll_period + 1, what), dispatches /= 2);
    EXPECT_EQ(pace.next(longest_poll_period + 1, what), 1u);
    EXPECT_EQ(pace.next(~std::uint64_t{0}, poll_result::rested), 1u);
    while (dispatches < poll_interval)
      EXPECT_EQ(pace.next(0, what), dispatches = std::min(2 * dispatches, poll_interval));
    EXPECT_EQ(after_quick_polls(pace, pace.patience), poll_interval);
  }
}

// A few dispatches seemed slow because the kernel ran another thread meanwhile. Those after them are neither
// quick nor slow.
TEST(AdaptivePollInterval, RecoversIfPollsTurnOutToBeTooFrequent) {
  for (const poll_result what : {poll_result::nothing, poll_result::found}) {
    adaptive_poll_interval pace(run_policy::fifo);
    for (unsigned slow = 0; slow < 10; ++slow)
      pace.next(longest_poll_period + 1, what);
    for (unsigned dispatches = 1; dispatches < poll_interval;) {
      for (unsigned i = 0; i < pace.patience; ++i) {
        EXPECT_EQ(pace.next(longest_poll_period / 2 - 1, what), dispatches);
        EXPECT_EQ(pace.next(longest_poll_period / 2, what), dispatches);
      }
      EXPECT_EQ(pace.next(shortest_poll_period, what), dispatches = std::min(2 * dispatches, poll_interval));
    }
    for (unsigned i = 0; i < 2 * pace.patience; ++i)
      EXPECT_EQ(pace.next(shortest_poll_period, what), poll_interval);
  }
}

TEST(AdaptivePollInterval, IsWithLifoNeverMoreFrequentThanAtFirst) {
  adaptive_poll_interval pace(run_policy::lifo);
  after_quick_polls(pace, pace.patience + 1);
  for (const poll_result what : {poll_result::nothing, poll_result::found, poll_result::rested})
    EXPECT_EQ(pace.next(longest_poll_period + 1, what), poll_interval);
  EXPECT_EQ(after_quick_polls(pace, pace.patience + 1), 2 * poll_interval);
}

template <class Kind>
class ExternalPolls : public kind_test<Kind> {
protected:
  // How many polls the worker makes meanwhile: each notes when it was made.
  static unsigned in(unsigned yields, std::chrono::nanoseconds each) {
    const std::uint64_t& noted = detail::this_worker()->now;
    std::uint64_t last = noted;
    unsigned polls = 0;
    for (unsigned i = 0; i < yields; ++i) {
      for (const auto end = std::chrono::steady_clock::now() + each;
           std::chrono::steady_clock::now() < end;) {
      }
      Kind::yield();
      polls += std::exchange(last, noted) != noted;
    }
    return polls;
  }
};

KIND_TEST(ExternalPolls, AreNeverFurtherApartThanTheLongestInterval) {
  this->run([&] {
    this->in(20 * longest_poll_interval, {});
    EXPECT_GE(this->in(10 * longest_poll_interval, {}), 9u);
  });
}

KIND_TEST(ExternalPolls, AreMadeAtEachTurnOnceTurnsTakeLong) {
  const unsigned turns = Kind::param.policy == run_policy::lifo ? poll_interval : 1;
  this->run([&] {
    this->in(20 * longest_poll_interval, {});
    constexpr std::chrono::nanoseconds slow(longest_poll_period / 2 + 1);
    this->in(longest_poll_interval + 2 * poll_interval, slow);
    EXPECT_GE(this->in(10 * turns, slow), 9u);
  });
}

}  // namespace
}  // namespace sennit
