// Boost.Fiber: see threadring.hpp.
#include "../peers/boost-fiber.hpp"
#include "threadring.hpp"

int main(int argc, char** argv) {
  using library = bench::boost_fibers<>;
  bench::program program(argc, argv, library::version(),
                         "8 KiB pooled stacks, fibers::mutex, fibers::condition_variable",
                         bench::threadring_parameters());
  program.require_one_worker("the default scheduler has one kernel thread");

  library::run([&] { bench::measure_threadring<library>(program, "fiber", 8 * 1024); });
}
