// Tests of what fibers on several workers, and OS threads, wait for each other with.
#pragma once

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "sennit/runtime.hpp"

namespace sennit {

class sync_test : public testing::TestWithParam<unsigned> {
protected:
  // Runs `count` fibers, and `threads` OS threads, of one function, and waits for all.
  template <class Function>
  void run_all(int count, Function function, int threads = 0) {
    std::vector<std::thread> os;
    for (int i = 0; i < threads; ++i)
      os.emplace_back([&, i] { function(count + i); });
    rt.run([&] {
      std::vector<fiber> all;
      for (int i = 0; i < count; ++i)
        all.push_back(spawn([&, i] { function(i); }));
      for (fiber& each : all)
        each.join();
    });
    for (std::thread& each : os)
      each.join();
  }

  runtime rt{{.workers = GetParam()}};
};

inline const auto every_worker_count = testing::Values(1u, 2u, 4u);

}  // namespace sennit
