// POSIX threads: see sort.hpp. A thread for each left part of so many numbers that it pays.
#include "../peers/pthread.hpp"
#include "sort.hpp"

int main(int argc, char** argv) {
  bench::program program(
      argc, argv, bench::pthreads::version(),
      bench::quicksort_configuration(", a thread for each left part above 100,000").c_str(),
      bench::sort_parameters());
  constexpr bench::fork_by_fibers<bench::pthreads, 100'000> fork;
  bench::measure_sort(program, "quicksort",
                      [&](int* first, int* last) { bench::quicksort(first, last, fork); });
}
