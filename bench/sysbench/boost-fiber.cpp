// Boost.Fiber: see sysbench.hpp.
#include "../peers/boost-fiber.hpp"
#include "sysbench.hpp"

int main(int argc, char** argv) {
  using library = bench::boost_fibers<>;
  bench::program program(argc, argv, library::version(), "fibers::mutex, round_robin scheduler",
                         bench::sysbench_parameters());
  program.require_one_worker("the default scheduler has one kernel thread");

  library::run([&] { bench::measure_sysbench<library>(program, "fiber"); });
}
