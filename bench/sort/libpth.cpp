// GNU Pth: see sort.hpp. A thread for each left part.
#include "../peers/libpth.hpp"
#include "sort.hpp"

int main(int argc, char** argv) {
  using library = bench::pth;
  bench::program program(argc, argv, library::version(),
                         bench::quicksort_configuration(", a thread for each left part").c_str(),
                         bench::sort_parameters());
  program.require_one_worker("Pth has one kernel thread");

  constexpr bench::fork_by_fibers<library> fork;
  library::run([&] {
    bench::measure_sort(program, "quicksort",
                        [&](int* first, int* last) { bench::quicksort(first, last, fork); });
  });
}
