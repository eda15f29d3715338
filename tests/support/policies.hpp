// For tests that run under each policy of the run queue.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sennit/run_policy.hpp"

namespace support {

inline auto every_policy() {
  using sennit::run_policy;
  return testing::Values(run_policy::fifo, run_policy::lifo, run_policy::hybrid);
}

// The end of such a test's name.
inline std::string policy_name(const testing::TestParamInfo<sennit::run_policy>& info) {
  switch (info.param) {
    case sennit::run_policy::fifo:
      return "Fifo";
    case sennit::run_policy::lifo:
      return "Lifo";
    case sennit::run_policy::hybrid:
      return "Hybrid";
  }
  return "Unknown";
}

}  // namespace support
