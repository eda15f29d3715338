// 100 tasks at a time, all started by one fiber, which waits for them: each computes so many `steps`, one
// after the other. Where a task is short, whoever helps costs more than it brings; where it is long, two
// workers should take half the time of one. One operation is one task.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../support/bench.hpp"

namespace bench {

inline constexpr std::size_t grain_tasks = 100;

/// The parameter every program of this workload takes. A step takes a nanosecond, about.
inline std::vector<parameter> grain_parameters() {
  return {{"steps", {100, 300, 1'000, 3'000, 10'000, 30'000}, {100, 3'000}}};
}

/// One step needs the result of the one before.
BENCH_INLINE std::uint64_t compute_steps(std::uint64_t steps) {
  std::uint64_t x = 1;
  for (; steps != 0; --steps)
    x = opaque(x * 6'364'136'223'846'793'005u + steps);
  return x;
}

using grain_results = std::array<std::uint64_t, grain_tasks>;

/// Call it from a fiber. `run_all(compute)` has `compute(i)` called for each i below grain_tasks by a task of
/// its own, and waits for all.
template <class RunAll>
void measure_grain(program& program, const char* variant, RunAll run_all) {
  for (const long each : program.values("steps")) {
    const auto steps = static_cast<std::uint64_t>(each);
    const std::uint64_t expected = compute_steps(steps);
    program.measure(
        variant, {{"steps", each}}, "task", static_cast<double>(grain_tasks), [&](std::uint64_t count) {
          for (; count != 0; --count) {
            grain_results results{};
            run_all([&results, steps](std::size_t i) { results[i] = compute_steps(opaque(steps)); });
            for (const std::uint64_t result : results)
              require(result == expected, "a task was lost");
          }
        });
  }
}

}  // namespace bench
