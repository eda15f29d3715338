// The word and the list of a local wait queue: a waiter that gives up leaves the list, and not the mark.
#include <gtest/gtest.h>

#include <atomic>

#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::detail {
namespace {

constexpr auto any_order = std::memory_order_relaxed;

TEST(MarkedWaiters, KeepTheStateWhileThereAreWaiters) {
  marked_waiters kept(5);
  EXPECT_TRUE(kept.quiet());
  EXPECT_TRUE(kept.change(5, 6, any_order));
  waiter one;
  kept.push(one);
  EXPECT_FALSE(kept.quiet());
  EXPECT_EQ(kept.peek(any_order), 6U);
  EXPECT_FALSE(kept.change(6, 7, any_order));
  EXPECT_EQ(kept.lock(), 6U);
  kept.unlock(8, true);
  EXPECT_EQ(kept.peek(any_order), 8U);
  EXPECT_FALSE(kept.change(8, 9, any_order));
  one.leave_list();
}

TEST(MarkedWaiters, ChangeAgainOnceTheLastOneHasGivenUp) {
  marked_waiters kept(1);
  waiter one;
  waiter other;
  kept.push(one);
  kept.push(other);
  one.leave_list();
  EXPECT_FALSE(kept.change(1, 2, any_order));
  other.leave_list();
  EXPECT_TRUE(kept.quiet());
  EXPECT_FALSE(kept.change(3, 2, any_order));
  EXPECT_EQ(kept.peek(any_order), 1U);
  EXPECT_TRUE(kept.change(1, 2, any_order));
  EXPECT_TRUE(kept.change(2, 0, any_order));
  EXPECT_EQ(kept.peek(any_order), 0U);
}

TEST(MarkedWaiters, ChangeQuicklyOnceTheStateWasChangedWithoutWaiters) {
  marked_waiters kept(1);
  waiter one;
  kept.push(one);
  EXPECT_FALSE(kept.change_quickly(1, 2, any_order));
  one.leave_list();
  EXPECT_FALSE(kept.change_quickly(1, 2, any_order));
  kept.unlock(kept.lock(), false);
  EXPECT_FALSE(kept.change_quickly(1, 2, any_order));
  kept.unlock(2, true);
  EXPECT_TRUE(kept.change_quickly(2, 3, any_order));
  EXPECT_EQ(kept.peek(any_order), 3U);
}

}  // namespace
}  // namespace sennit::inline v0_1::detail
