// oneTBB: see grain.hpp. A task is no fiber: it has no stack of its own, and can wait only for tasks.
#include "../peers/tbb.hpp"

#include <oneapi/tbb/task_group.h>

#include "grain.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::tbb_version(), "task_group: run, wait",
                         bench::grain_parameters());
  const bench::tbb_threads threads(program.workers());
  bench::measure_grain(program, "task_group", [](auto compute) {
    oneapi::tbb::task_group tasks;
    for (std::size_t i = 0; i < bench::grain_tasks; ++i)
      tasks.run([compute, i] { compute(i); });
    tasks.wait();
  });
}
