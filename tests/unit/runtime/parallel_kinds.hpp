// Parallel runtimes on one worker, two and more than there are processors, and with each run-queue policy.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sennit/runtime.hpp"

namespace parallel_test {

using namespace sennit;

struct kind {
  unsigned workers;
  run_policy policy = run_policy::fifo;
  bool migrating = false;  // fibers go to another worker whenever they become ready
};

class parallel_runtime : public testing::TestWithParam<kind> {
public:
  parallel_runtime() { detail::force_migration = false; }

protected:
  const unsigned workers = GetParam().workers;
  runtime rt{
      {.workers = (detail::force_migration = GetParam().migrating, workers), .policy = GetParam().policy}};
};

inline const auto kinds =
    testing::Values(kind{1}, kind{2}, kind{4}, kind{1, run_policy::lifo}, kind{2, run_policy::lifo},
                    kind{1, run_policy::hybrid}, kind{4, run_policy::hybrid}, kind{2, run_policy::fifo, true},
                    kind{4, run_policy::fifo, true});
inline const auto kind_name = [](const auto& each) {
  return std::to_string(each.param.workers) + (each.param.policy == run_policy::lifo ? "_lifo" : "") +
         (each.param.policy == run_policy::hybrid ? "_hybrid" : "") +
         (each.param.migrating ? "_migrating" : "");
};

}  // namespace parallel_test
