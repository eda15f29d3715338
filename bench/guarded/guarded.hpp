// n coroutines, suspended all at once, each on a stack of 64 KiB with a guard page: what one takes of time
// (made, entered, resumed to its end, destroyed) and of memory, and how many mappings all have.
#pragma once

#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../support/bench.hpp"

namespace bench {

inline constexpr std::size_t guarded_stack_size = 64 * 1024;

inline double mappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<double>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

inline parameter guarded_stacks() {
  return {"n", {1'000, 30'000, 1'000'000}, {1'000, 30'000}};
}

/// `make(i)` returns a coroutine that has begun, and is suspended; `resume(it)` runs it to its end and
/// returns its i. What `make` throws when it can make no more is printed in the place of a result.
template <class Make, class Resume>
void measure_guarded(program& program, const char* variant, Make make, Resume resume) {
  for (const long n : program.values("n")) {
    const params parameters{{"n", n}};
    if (!program.wants(variant, parameters))
      continue;
    double most = 0;
    long made = 0;
    try {
      const double before = mappings();
      program.measure(variant, parameters, "stack", static_cast<double>(n), [&](std::uint64_t count) {
        for (; count != 0; --count) {
          std::vector<decltype(make(0L))> all;
          all.reserve(static_cast<std::size_t>(n));
          for (made = 0; made < n; ++made)
            all.push_back(make(made));
          if (most == 0)
            most = mappings() - before;
          long sum = 0;
          for (auto& each : all)
            sum += resume(each);
          require(sum == n * (n - 1) / 2, "a coroutine did not run to its end");
        }
      });
    } catch (const std::exception& error) {
      program.unsupported(variant, parameters,
                          ("after " + std::to_string(made) + " stacks: " + error.what()).c_str());
      continue;
    }
    program.report_count(variant, parameters, "mappings", most);
    program.report_memory(variant, parameters, "stack", static_cast<double>(n));
  }
}

}  // namespace bench
