// Sennit: see sort.hpp. The left part is entered at once; the rest of the caller is what others take. `local`
// uses spawn: its left part runs when the right part is sorted.
#include "sort.hpp"

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, "this checkout",
                         (bench::quicksort_configuration(" by spawn_now (local: spawn, lifo)") +
                          "; 1 worker: the second one is held")
                             .c_str(),
                         bench::sort_parameters());
  const auto fork = [](std::ptrdiff_t, auto left, auto right) {
    auto child = sennit::spawn_now(left);
    right();
    child.join();
  };
  const auto fork_local = [](std::ptrdiff_t, auto left, auto right) {
    auto child = sennit::local::spawn(left);
    right();
    child.join();
  };
  if (program.workers() == 1)
    bench::sennit_local::run(
        [&] {
          bench::measure_sort(program, "local",
                              [&](int* first, int* last) { bench::quicksort(first, last, fork_local); });
        },
        sennit::run_policy::lifo);
  bench::sennit_parallel::run(program.workers(), bench::second_worker::held, [&] {
    bench::measure_sort(program, "parallel",
                        [&](int* first, int* last) { bench::quicksort(first, last, fork); });
  });
}
