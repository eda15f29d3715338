// Sorts n random numbers; one operation is one of them. Each time a copy of the same numbers is sorted, and
// the time includes the copy. The peers that bring a scheduler and no sort use the quicksort here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "../support/bench.hpp"
#include "sequential.hpp"

namespace bench {

/// The parameter every program of this workload takes.
inline std::vector<parameter> sort_parameters() {
  return {{"n", {10'000'000}, {1'000'000}}};
}

/// The configuration of a peer that uses `quicksort`: `forks` is how.
inline std::string quicksort_configuration(const std::string& forks) {
  return "quicksort" + forks + ", std::sort below " + std::to_string(sort_cutoff);
}

/// `fork(size, left, right)` calls both, which may run at the same time, and returns when both have.
template <class Fork>
void quicksort(int* first, int* last, Fork fork) {
  if (last - first < sort_cutoff) {
    sort_leaf(first, last);
    return;
  }
  int* const middle = partition(first, last);
  fork(last - first, [=] { quicksort(first, middle, fork); }, [=] { quicksort(middle, last, fork); });
}

/// How `quicksort` forks by fibers of `Library`: one for the left part, but where there are fewer numbers
/// than `cutoff`.
template <class Library, std::ptrdiff_t cutoff = 0>
struct fork_by_fibers {
  template <class Left, class Right>
  void operator()(std::ptrdiff_t size, Left left, Right right) const {
    if (size < cutoff) {
      left();
      right();
      return;
    }
    const auto run = [](void* part) -> void* {
      (*static_cast<Left*>(part))();
      return nullptr;
    };
    typename Library::fiber child(run, &left);
    right();
    child.join();
  }
};

/// Call it from a fiber. `sort(first, last)` sorts.
template <class Sort>
void measure_sort(program& program, const char* variant, Sort sort) {
  for (const long n : program.values("n")) {
    if (!program.wants(variant, {{"n", n}}))
      continue;
    std::vector<int> numbers(static_cast<std::size_t>(n));
    std::mt19937 random(1);
    for (int& each : numbers)
      each = static_cast<int>(random());
    std::vector<int> sorted(numbers.size());
    program.measure(variant, {{"n", n}}, "number", static_cast<double>(n), [&](std::uint64_t count) {
      for (; count != 0; --count) {
        std::memcpy(sorted.data(), numbers.data(), numbers.size() * sizeof(int));
        sort(sorted.data(), sorted.data() + sorted.size());
      }
    });
    const auto sum = [](const std::vector<int>& of) {
      return std::accumulate(of.begin(), of.end(), std::uint64_t{0});
    };
    require(std::is_sorted(sorted.begin(), sorted.end()) && sum(numbers) == sum(sorted), "it did not sort");
  }
}

}  // namespace bench
