// Spawn n fibers that do nothing, then join them all.
#pragma once

#include <cstdint>
#include <vector>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"

namespace bench {

inline parameter live_fibers(std::vector<long> most = {1'000, 100'000, 1'000'000}) {
  return {"n", std::move(most), {1'000, 10'000}};
}

inline void* end_at_once(void*) {
  return nullptr;
}

/// Call it from a fiber.
template <class Library>
void measure_spawn_many(program& program, const char* variant) {
  for (const long n : program.values("n")) {
    std::vector<typename Library::fiber> all;
    all.reserve(static_cast<std::size_t>(n));
    program.measure(variant, {{"n", n}}, "fiber", static_cast<double>(n), [&](std::uint64_t count) {
      for (; count != 0; --count) {
        for (long i = 0; i < n; ++i)
          all.emplace_back(opaque(&end_at_once), nullptr);
        for (auto& each : all)
          each.join();
        all.clear();
      }
    });
    program.report_memory(variant, {{"n", n}});
  }
}

}  // namespace bench
