// Whether it pays to help: what is remembered of it, and that a runtime goes by it.
#include "sennit/detail/parallel/steal_throttle.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "sennit/runtime.hpp"
#include "support/busy_workers.hpp"

namespace {

using namespace sennit;
using namespace std::chrono_literals;
using detail::steal_throttle;
using detail::wake_throttle;
using steady = std::chrono::steady_clock;

constexpr std::atomic<unsigned> nobody_searches{0};

TEST(WakeThrottle, AreAlwaysDueAtFirstWhereTheyMayBe) {
  for (int i = 0; i < 100; ++i) {
    wake_throttle calls(0);
    EXPECT_TRUE(calls.due(nobody_searches));
  }
}

TEST(WakeThrottle, GrowSeldomWhileTheyDoNotPay) {
  wake_throttle calls(0);
  unsigned called = 0;
  const auto begin = steady::now();
  while (steady::now() < begin + 20ms)
    called += calls.due(nobody_searches);
  // At once, after 20, 40, ..., 640 us, and a millisecond each from then on.
  EXPECT_LE(called, 8 + (steady::now() - begin) / 1ms);
  EXPECT_GE(called, 2u);
}

TEST(WakeThrottle, AreDueAtOnceAfterOneThatPaid) {
  for (int round = 0; round < 100; ++round) {
    wake_throttle calls(0);
    for (int i = 0; i < 1000; ++i)
      (void)calls.due(nobody_searches);
    calls.paid();
    unsigned asked = 1;  // it may have to look at the clock again first
    while (!calls.due(nobody_searches))
      ++asked;
    EXPECT_LE(asked, 64u);
  }
}

TEST(WakeThrottle, AreNotMadeNorCountedWhileSomebodySearches) {
  const std::atomic<unsigned> somebody{1};
  wake_throttle calls(0);
  for (int i = 0; i < 1000; ++i)
    EXPECT_FALSE(calls.due(somebody));
  EXPECT_TRUE(calls.due(nobody_searches));
}

TEST(StealThrottle, IsDueUntilItDidNotPay) {
  steal_throttle thief;
  steal_throttle victim;
  EXPECT_TRUE(thief.may_steal());
  thief.became_idle();  // of what it had anyway
  EXPECT_TRUE(thief.may_steal());
  EXPECT_TRUE(thief.pays());
  thief.note_theft(victim, 1'000'000);  // so many must keep both busy for half a second
  thief.became_idle();
  EXPECT_FALSE(thief.may_steal());
  EXPECT_FALSE(thief.pays());
  EXPECT_TRUE(victim.may_steal());
}

TEST(StealThrottle, IsDueAgainWhenItHasSlept) {
  steal_throttle thief;
  steal_throttle victim;
  thief.note_theft(victim, 1'000'000);
  thief.became_idle();
  thief.slept();
  EXPECT_TRUE(thief.may_steal());
  EXPECT_FALSE(thief.pays());
  thief.note_theft(victim, 1'000'000);
  thief.became_idle();
  EXPECT_FALSE(thief.may_steal());
}

TEST(StealThrottle, PaysWhereBothAreBusyForLong) {
  steal_throttle thief;
  steal_throttle victim;
  thief.note_theft(victim, 1);
  std::this_thread::sleep_for(1ms);
  thief.became_idle();
  EXPECT_TRUE(thief.pays());
  victim.became_idle();
  thief.became_idle();  // once more, and nothing was stolen
  EXPECT_TRUE(thief.pays());
}

// The stolen fiber runs for long, but was the only one: the two workers have only changed places.
TEST(StealThrottle, DoesNotPayWhereTheOtherFallsShortInstead) {
  steal_throttle thief;
  steal_throttle victim;
  thief.note_theft(victim, 1'000'000);
  victim.became_idle();
  std::this_thread::sleep_for(600ms);
  victim.became_idle();  // only the first time counts
  thief.became_idle();
  EXPECT_FALSE(thief.pays());
}

TEST(StealThrottle, MayPayAgainAfterItDidNot) {
  steal_throttle thief;
  steal_throttle victim;
  thief.note_theft(victim, 1'000'000);
  thief.became_idle();
  thief.slept();
  thief.note_theft(victim, 1);
  std::this_thread::sleep_for(1ms);
  thief.became_idle();
  EXPECT_TRUE(thief.pays());
  EXPECT_TRUE(thief.may_steal());
}

// Fibers that are not worth a theft keep others from stealing only as long as there are no others.
TEST(StealThrottle, LongFibersAreSharedAfterShortOnes) {
  runtime rt({.workers = 2});
  rt.spawn([] {
      for (int round = 0; round < 10; ++round) {
        for (int batch = 0; batch < 200; ++batch) {
          std::vector<fiber> brief;
          for (int i = 0; i < 64; ++i)
            brief.push_back(spawn([] {}));
          for (fiber& each : brief)
            each.join();
        }
        std::atomic<int> begun{0};
        std::vector<fiber> lasting;
        for (int i = 0; i < 2; ++i)
          lasting.push_back(spawn([&] {
            ++begun;
            support::spin_until([&] { return begun == 2; });
          }));
        for (fiber& each : lasting)
          each.join();
      }
    }).join();
}

}  // namespace
