// Tests that are compiled once, and run in a local runtime and in parallel ones: what fibers of either do.
//
//   class Slices : public testing::TestWithParam<unsigned>, protected support::any_runtime { ... };
//   INSTANTIATE_TEST_SUITE_P(Runtimes, Slices, testing::Values(0u, 1u, 2u), support::runtime_name);
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "sennit/local/runtime.hpp"
#include "sennit/runtime.hpp"

namespace support {

struct any_runtime {
  unsigned workers;  // 0: a local runtime

  template <class Function>
  void run(Function function, std::chrono::nanoseconds time_slice = {}) const {
    if (workers == 0)
      sennit::local::runtime({.time_slice = time_slice}).run(function);
    else
      sennit::runtime({.workers = workers, .time_slice = time_slice}).run(function);
  }
  template <class Function>
  void spawn_detached(Function function) const {
    if (workers == 0)
      sennit::local::spawn(function).detach();
    else
      sennit::spawn(function).detach();
  }
  template <class Function>
  void spawn_and_join(Function function) const {
    if (workers == 0)
      sennit::local::spawn(function).join();
    else
      sennit::spawn(function).join();
  }
  void sleep() const {
    if (workers == 0)
      sennit::local::this_fiber::sleep_for(std::chrono::milliseconds(1));
    else
      sennit::this_fiber::sleep_for(std::chrono::milliseconds(1));
  }
  void yield() const {
    if (workers == 0)
      sennit::local::this_fiber::yield();
    else
      sennit::this_fiber::yield();
  }
  std::uint64_t id() const {
    return workers == 0 ? sennit::local::this_fiber::id() : sennit::this_fiber::id();
  }
};

inline std::string runtime_name(const testing::TestParamInfo<unsigned>& workers) {
  return workers.param == 0 ? "Local" : "Workers" + std::to_string(workers.param);
}

}  // namespace support
