// n fibers that are all parked before they are all woken; what each takes of time, from its beginning to its
// end, and of memory.
#pragma once

#include <atomic>
#include <vector>

#include "../support/bench.hpp"

namespace bench {

inline parameter parked_fibers() {
  return {"n", {1'000, 10'000, 100'000, 1'000'000}, {1'000, 10'000}};
}

/// `start(function)` starts a fiber and returns what can be joined; `yield()` gives way. Fibers wait at a
/// `Gate`, by `wait()`, until its `open()`; what that returns is what their functions return.
template <class Gate, class Start, class Yield>
void measure_parked(program& program, const char* variant, Start start, Yield yield) {
  for (const long n : program.values("n")) {
    program.measure(variant, {{"n", n}}, "fiber", static_cast<double>(n), [&](std::uint64_t count) {
      for (; count != 0; --count) {
        Gate gate;
        std::atomic<long> begun{0};
        std::vector<decltype(start([] {}))> all;
        all.reserve(static_cast<std::size_t>(n));
        for (long i = 0; i < n; ++i)
          all.push_back(start([&gate, &begun] {
            begun.fetch_add(1, std::memory_order_relaxed);
            return gate.wait();
          }));
        while (begun.load(std::memory_order_relaxed) != n)
          yield();
        gate.open();
        for (auto& each : all)
          each.join();
      }
    });
    program.report_memory(variant, {{"n", n}}, "fiber", static_cast<double>(n));
  }
}

}  // namespace bench
