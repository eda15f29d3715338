// oneTBB: see sort.hpp. Its own parallel sort; and the quicksort of the others by its tasks.
#include "../peers/tbb.hpp"

#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_group.h>

#include "sort.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::tbb_version(),
                         ("parallel_sort; task_group: " + bench::quicksort_configuration("")).c_str(),
                         bench::sort_parameters());
  const bench::tbb_threads threads(program.workers());
  bench::measure_sort(program, "parallel_sort",
                      [](int* first, int* last) { oneapi::tbb::parallel_sort(first, last); });
  const auto fork = [](std::ptrdiff_t, auto left, auto right) {
    oneapi::tbb::task_group tasks;
    tasks.run(left);
    right();
    tasks.wait();
  };
  bench::measure_sort(program, "task_group",
                      [&](int* first, int* last) { bench::quicksort(first, last, fork); });
}
