// What the run queue does with each policy: examples, to read, which its model follows, too.
#include "sennit/detail/sched/run_queue.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "run_queue_model.hpp"

namespace run_queue_test {
namespace {

TEST(RunQueueFifo, RunsEachInItsTurn) {
  pair_of_queues both(run_policy::fifo, 4);
  for (int f = 0; f < 4; ++f) {
    both.wake_up_this(f);
    both.add(f);
  }
  both.next();
  for (int f = 0; f < 8; ++f) {
    EXPECT_EQ(both.running_one(), f % 4);
    both.yield();
  }
}

TEST(RunQueueFifo, TheOneWokenLastGoesFirst) {
  pair_of_queues both(run_policy::fifo, 5);
  for (int f = 0; f < 3; ++f) {
    both.wake_up_this(f);
    both.add(f);
  }
  both.next();
  EXPECT_EQ(both.running_one(), 0);
  for (int f : {3, 4}) {
    both.wake_up_this(f);
    both.add_woken(f);
  }
  for (int expected : {4, 1, 2, 3}) {  // and 3, which gave the slot up, in its turn
    both.park();
    EXPECT_EQ(both.running_one(), expected);
  }
}

TEST(RunQueueFifo, TwoThatWakeEachOtherLetOthersRunWhenTheBudgetIsSpent) {
  pair_of_queues both(run_policy::fifo, 3);
  const auto wake_the_other = [&both] {
    const int other = 1 - both.running_one();
    both.wake_up_this(other);
    both.add_woken(other);
    both.park();
  };
  both.wake_up_this(0);
  both.add(0);
  both.next();
  for (int alone = 0; alone < 2 * next_slot_budget; ++alone)  // no other fiber waits, so that does not count
    wake_the_other();
  both.wake_up_this(2);
  both.add(2);
  int wakes = 0;
  while (both.running_one() != 2) {
    wake_the_other();
    ASSERT_LE(++wakes, next_slot_budget + 1);
  }
  EXPECT_EQ(wakes, next_slot_budget + 1);
}

TEST(RunQueueLifo, RunsTheOneThatBecameReadyLast) {
  pair_of_queues both(run_policy::lifo, 4);
  for (int f = 0; f < 4; ++f) {
    both.wake_up_this(f);
    both.add(f);
  }
  both.next();
  for (int expected : {3, 2, 1, 0}) {
    EXPECT_EQ(both.running_one(), expected);
    both.park();
  }
  EXPECT_FALSE(both.running());
}

TEST(RunQueueHybrid, OfThoseThatYieldTwoTakeTurnsThenAllRun) {
  pair_of_queues both(run_policy::hybrid, 4);
  for (int f = 0; f < 4; ++f) {
    both.wake_up_this(f);
    both.add(f);
  }
  both.next();
  std::vector<int> order, expected;
  for (unsigned i = 0; i < hybrid_adds + 6; ++i) {
    order.push_back(both.running_one());
    both.yield();
  }
  for (unsigned i = 0; i <= hybrid_adds; ++i)  // the first enters the slot, and so each as it yields
    expected.push_back(static_cast<int>(i % 2));
  expected.insert(expected.end(), {1, 2, 3, 0, 1});
  EXPECT_EQ(order, expected);
}

// The seed's lexer (0) and parser (1) among other ready fibers: they switch a few times, then all others run,
// and then these two resume.
TEST(RunQueueHybrid, APairAmongManySwitchesAFewTimesThenAllOthersRun) {
  pair_of_queues both(run_policy::hybrid, 10);
  for (int f : {0, 2, 3, 4, 5, 6, 7, 8, 9}) {
    both.wake_up_this(f);
    both.add(f);
  }
  both.next();
  std::vector<int> order;
  while (order.size() < 1 + hybrid_adds + 9 + hybrid_adds) {
    const int self = both.running_one();
    order.push_back(self);
    if (self < 2) {
      both.wake_up_this(1 - self);
      both.add_woken(1 - self);
    }
    both.park();
  }
  std::vector<int> expected = {0};
  const auto pair = [&](int first) {  // to and fro, each time by the slot
    for (int i = 0; i < static_cast<int>(hybrid_adds); ++i)
      expected.push_back((first + i) % 2);
  };
  pair(1);
  expected.insert(expected.end(), {2, 3, 4, 5, 6, 7, 8, 9, 1});  // those queued when that is spent
  pair(0);
  EXPECT_EQ(order, expected);
}

}  // namespace
}  // namespace run_queue_test
