// Create a coroutine, run it to its end, destroy it: what every peer of the create workload is measured by.
#pragma once

#include "../support/bench.hpp"

namespace bench {

/// Measures `create(value)`, which makes a coroutine, runs it, destroys it, and returns the value it was
/// given by way of the coroutine.
template <class Create>
void measure_create(program& program, const char* variant, Create&& create) {
  program.measure(variant, {}, "create", 1, [&](std::uint64_t count) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < count; ++i)
      sum += create(i & 1);
    require(sum == count / 2, "a coroutine did not run");
  });
}

}  // namespace bench
