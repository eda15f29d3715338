// Sennit: see sort.hpp. The left part is entered at once; the rest of the caller is what others take.
#include "sort.hpp"

#include "../peers/sennit-parallel.hpp"

int main(int argc, char** argv) {
  bench::program program(
      argc, argv, "this checkout",
      (bench::quicksort_configuration(" by spawn_now") + "; 1 worker: the second one is held").c_str(),
      bench::sort_parameters());
  const auto fork = [](std::ptrdiff_t, auto left, auto right) {
    auto child = sennit::spawn_now(left);
    right();
    child.join();
  };
  bench::sennit_parallel::run(program.workers(), bench::second_worker::held, [&] {
    bench::measure_sort(program, "parallel",
                        [&](int* first, int* last) { bench::quicksort(first, last, fork); });
  });
}
