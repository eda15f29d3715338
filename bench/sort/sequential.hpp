// The sequential parts of the quicksort in sort.hpp. They take nearly all of its time, so they are compiled
// once: every peer that sorts by it runs the same machine code. As templates they were laid out anew in each
// program, and that can cost more than these schedulers differ by.
#pragma once

#include <cstddef>

namespace bench {

/// Fewer than this are not divided any further. It is the number below which oneTBB's parallel_sort never
/// divides, nor gcc's parallel sort (both may stop earlier); and the smaller a leaf, the less it hides what a
/// fork costs.
inline constexpr std::ptrdiff_t sort_cutoff = 500;

/// Divides at least `sort_cutoff` numbers: none before what it returns is greater than any from there on, and
/// there are some on both sides.
int* partition(int* first, int* last);

/// Sorts fewer than `sort_cutoff` numbers, by std::sort.
void sort_leaf(int* first, int* last);

}  // namespace bench
