// oneTBB: see fib.hpp. A task is no fiber: it has no stack of its own, and can wait only for tasks.
#include "../peers/tbb.hpp"

#include <oneapi/tbb/task_group.h>

#include "fib.hpp"

namespace {

long fib(long n) {
  if (n < 2)
    return n;
  long a = 0;
  long b = 0;
  oneapi::tbb::task_group tasks;
  tasks.run([&a, n] { a = fib(n - 1); });
  tasks.run([&b, n] { b = fib(n - 2); });
  tasks.wait();
  return a + b;
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::tbb_version(), "n = 27 (quick: 22), task_group: run, run, wait",
                         bench::fib_parameters(27, 22));
  const bench::tbb_threads threads(program.workers());
  bench::measure_fib(program, "task_group", fib);
}
