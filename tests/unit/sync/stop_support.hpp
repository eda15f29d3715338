// The common part of tests of requested stops: a wait, and its cancellation.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stop_token>
#include <string>

#include "sennit/stop_guard.hpp"

namespace sennit {

struct wait_kind {
  std::string name;
  std::function<void()> wait;           // blocks for good
  std::function<void()> after = [] {};  // checks that the object is as if there had been no wait
};

// Calls `wait` under a guard, again and again: once a stop was requested, each wait must throw at once.
inline void be_cancelled(const std::stop_token& token, const std::function<void()>& wait,
                         std::atomic<bool>& begun) {
  const stop_guard guard(token);
  begun = true;
  EXPECT_THROW(wait(), cancelled);
  EXPECT_TRUE(stop_requested());
  EXPECT_THROW(wait(), cancelled);
}

struct failure {};

// Like be_cancelled(), with a failing fiber of the caller's scope. `Scope` and its fibers are of the caller's
// runtime.
template <class Scope>
void be_ended_by_failure(const std::function<void()>& wait, void (*yield)()) {
  Scope scope;
  scope.spawn([yield] {
    for (int i = 0; i < 3; ++i)
      yield();
    throw failure();
  });
  EXPECT_THROW(wait(), failure);
  EXPECT_TRUE(stop_requested());
  EXPECT_THROW(wait(), cancelled);  // it was swallowed
  EXPECT_THROW(scope.join(), failure);
  EXPECT_FALSE(stop_requested());
}

}  // namespace sennit
