// POSIX threads: see sort.hpp. A thread for each left part of so many numbers that it pays.
#include <pthread.h>

#include "../peers/pthread.hpp"
#include "sort.hpp"

int main(int argc, char** argv) {
  constexpr std::ptrdiff_t thread_cutoff = 100'000;
  bench::program program(
      argc, argv, bench::pthreads::version(),
      bench::quicksort_configuration(", a thread for each left part above 100,000").c_str(),
      bench::sort_parameters());
  const auto fork = [](std::ptrdiff_t size, auto left, auto right) {
    if (size < thread_cutoff) {
      left();
      right();
      return;
    }
    const auto run = [](void* part) -> void* {
      (*static_cast<decltype(left)*>(part))();
      return nullptr;
    };
    bench::pthreads::fiber child(run, &left);
    right();
    child.join();
  };
  bench::measure_sort(program, "quicksort",
                      [&](int* first, int* last) { bench::quicksort(first, last, fork); });
}
