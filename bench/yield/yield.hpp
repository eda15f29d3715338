// N fibers that do nothing but yield, each in a function and at a call depth of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"

namespace bench {

/// The parameter every program of this workload takes.
inline std::vector<parameter> yield_parameters() {
  return {{"fibers", {2, 100}, {2, 100}}};
}

template <class Library>
struct yielder {
  static BENCH_INLINE void run(void* argument) {
    for (std::uint64_t left = *static_cast<const std::uint64_t*>(argument); left != 0; --left)
      Library::yield();
  }
};

/// Call it from a fiber.
template <class Library>
void measure_yield(program& program, const char* variant) {
  for (const long fibers : program.values("fibers")) {
    program.measure(
        variant, {{"fibers", fibers}}, "yield", static_cast<double>(fibers), [&](std::uint64_t count) {
          std::vector<typename Library::fiber> running;
          for (long i = 0; i < fibers; ++i) {
            running.emplace_back(distinct_entry<yielder<Library>>(static_cast<std::size_t>(i)), &count);
          }
          for (auto& each : running)
            each.join();
        });
  }
}

}  // namespace bench
