// Fibonacci numbers with a fiber for each call: it starts one for fib(n - 1) and one for fib(n - 2), and
// joins both. A tree of fibers of which few need to live at once. One operation is one fiber. `n` is no
// parameter of a result: slow peers take a smaller one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "../support/bench.hpp"

namespace bench {

/// The parameter every program of this workload takes, with the n that takes the peer some tenths of a
/// second.
inline std::vector<parameter> fib_parameters(long n, long quick_n) {
  return {{"n", {n}, {quick_n}}};
}

struct fib_numbers {
  long value;
  long calls;  // of fib, to compute it
};

inline fib_numbers fib_of(long n) {
  fib_numbers last = {0, 1};
  fib_numbers next = {1, 1};
  for (; n > 0; --n)
    last = std::exchange(next, {last.value + next.value, last.calls + next.calls + 1});
  return last;
}

/// A fiber of `Library` for each call.
template <class Library>
struct fib_by_fibers {
  static long of(long n) {
    if (n < 2)
      return n;
    call a = {n - 1};
    call b = {n - 2};
    typename Library::fiber first(run, &a);
    typename Library::fiber second(run, &b);
    first.join();
    second.join();
    return a.result + b.result;
  }

private:
  struct call {
    long n;
    long result = 0;
  };
  static void* run(void* argument) {
    auto& self = *static_cast<call*>(argument);
    self.result = of(self.n);
    return nullptr;
  }
};

/// Call it from a fiber. `fib(n)` starts `started_of(calls)` fibers.
template <class Fib, class StartedOf>
void measure_fib(program& program, const char* variant, Fib fib, StartedOf started_of,
                 long most = INT64_MAX) {
  for (const long each : program.values("n")) {
    const long n = std::clamp(each, 2L, most);
    const fib_numbers expected = fib_of(n);
    const auto run = [&](std::uint64_t count) {
      for (; count != 0; --count)
        require(fib(opaque(n)) == expected.value, "the sum is wrong");
    };
    program.measure(variant, {}, "spawn", static_cast<double>(started_of(expected.calls)), run);
    program.report_memory(variant, {});
  }
}

/// The same, where a fiber is started for each call but the outermost.
template <class Fib>
void measure_fib(program& program, const char* variant, Fib fib, long most = INT64_MAX) {
  measure_fib(program, variant, fib, [](long calls) { return calls - 1; }, most);
}

}  // namespace bench
