#include "sequential.hpp"

#include <algorithm>
#include <utility>

namespace bench {
namespace {

int median(int a, int b, int c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// Of nine, spread evenly.
int pivot_of(const int* first, const int* last) {
  const std::ptrdiff_t step = (last - first - 1) / 8;
  const auto at = [&](int i) { return first[i * step]; };
  return median(median(at(0), at(1), at(2)), median(at(3), at(4), at(5)), median(at(6), at(7), at(8)));
}

}  // namespace

int* partition(int* first, int* last) {
  const int pivot = pivot_of(first, last);
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
  return low;
}

void sort_leaf(int* first, int* last) {
  // Compared by a type of this file, so that no other file has the same instance of std::sort: oneTBB's
  // parallel_sort brings one, and the linker would keep only one of the two.
  std::sort(first, last, [](int a, int b) { return a < b; });
}

}  // namespace bench
