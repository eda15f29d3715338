// n fibers that are all parked before they are all woken; what each takes of time, from its beginning to its
// end, and of memory.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include "../support/bench.hpp"

namespace bench {

inline parameter parked_fibers() {
  return {"n", {1'000, 10'000, 100'000, 1'000'000}, {1'000, 10'000}};
}

/// For a gate whose fibers are joined one by one.
template <class Fiber>
class joined_fibers {
public:
  explicit joined_fibers(long n) { all_.reserve(static_cast<std::size_t>(n)); }
  void add(Fiber fiber) { all_.push_back(std::move(fiber)); }
  void join() {
    for (Fiber& each : all_)
      each.join();
  }

private:
  std::vector<Fiber> all_;
};

/// `start(gate, function)` starts a fiber; `yield()` gives way. The n fibers wait at a `Gate`, by `wait()`,
/// until its `open()`; what that returns is what their functions return. `join()` waits for their ends.
template <class Gate, class Start, class Yield>
void measure_parked(program& program, const char* variant, Start start, Yield yield) {
  const auto park = [&](long n) {
    Gate gate(n);
    std::atomic<long> begun{0};
    for (long i = 0; i < n; ++i)
      start(gate, [&gate, &begun] {
        begun.fetch_add(1, std::memory_order_relaxed);
        return gate.wait();
      });
    while (begun.load(std::memory_order_relaxed) != n)
      yield();
    gate.open();
    gate.join();
  };
  program.begin_with_one(variant, [&] { park(1); });
  for (const long n : program.values("n")) {
    program.measure(variant, {{"n", n}}, "fiber", static_cast<double>(n), [&](std::uint64_t count) {
      for (; count != 0; --count)
        park(n);
    });
    program.report_memory_beside_one(variant, {{"n", n}}, "fiber", static_cast<double>(n));
  }
}

}  // namespace bench
