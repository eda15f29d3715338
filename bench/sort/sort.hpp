// Sorts n random numbers; one operation is one of them. Each time a copy of the same numbers is sorted, and
// the time includes the copy. The peers that bring a scheduler and no sort use the quicksort here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "../support/bench.hpp"

namespace bench {

/// The parameter every program of this workload takes.
inline std::vector<parameter> sort_parameters() {
  return {{"n", {10'000'000}, {1'000'000}}};
}

namespace detail {

inline int median(int a, int b, int c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// Of nine, spread evenly.
inline int pivot_of(const int* first, const int* last) {
  const std::ptrdiff_t step = (last - first - 1) / 8;
  const auto at = [&](int i) { return first[i * step]; };
  return median(median(at(0), at(1), at(2)), median(at(3), at(4), at(5)), median(at(6), at(7), at(8)));
}

}  // namespace detail

/// Sequential below this many.
inline constexpr std::ptrdiff_t sort_cutoff = 4096;

/// `fork(size, left, right)` calls both, which may run at the same time, and returns when both have.
template <class Fork>
void quicksort(int* first, int* last, Fork fork) {
  if (last - first <= sort_cutoff) {
    std::sort(first, last);
    return;
  }
  const int pivot = detail::pivot_of(first, last);
  int* low = first - 1;
  int* high = last;
  for (;;) {  // Hoare's
    while (*++low < pivot) {
    }
    while (pivot < *--high) {
    }
    if (low >= high)
      break;
    std::swap(*low, *high);
  }
  // The one in the middle, if they met there, belongs to either.
  int* const middle = low;
  fork(last - first, [=] { quicksort(first, middle, fork); }, [=] { quicksort(middle, last, fork); });
}

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
