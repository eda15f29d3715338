// The C++ standard library: see sort.hpp. Its parallel algorithms are gcc's, on oneTBB.
#include <algorithm>

#include "../support/compiler.hpp"
#include "sort.hpp"
#if defined(BENCH_HAS_TBB)
#include <execution>

#include "../peers/tbb.hpp"
#endif

int main(int argc, char** argv) {
  bench::program program(argc, argv, BENCH_COMPILER_VERSION,
                         "sort: std::sort, one thread; par: std::sort(std::execution::par) on oneTBB",
                         bench::sort_parameters());
  bench::measure_sort(program, "sort", [](int* first, int* last) { std::sort(first, last); });
#if defined(BENCH_HAS_TBB)
  const bench::tbb_threads threads(program.workers());
  bench::measure_sort(program, "par",
                      [](int* first, int* last) { std::sort(std::execution::par, first, last); });
#else
  program.unsupported("par", {},
                      "Debian package libtbb-dev is not installed: ./scripts/install_packages bench");
#endif
}
