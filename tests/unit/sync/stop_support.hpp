// What tests of requested stops share: a wait, and being told in it.
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
  std::function<void()> after = [] {};  // what was waited for is as if nobody had
};

// Calls `wait` under a guard, again and again: a wait that is told must throw at once from then on.
inline void be_cancelled(const std::stop_token& token, const std::function<void()>& wait,
                         std::atomic<bool>& begun) {
  const stop_guard guard(token);
  begun = true;
  EXPECT_THROW(wait(), cancelled);
  EXPECT_TRUE(stop_requested());
  EXPECT_THROW(wait(), cancelled);
}

}  // namespace sennit
