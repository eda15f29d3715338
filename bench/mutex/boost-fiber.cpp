// Boost.Fiber: see mutex.hpp.
#include "../peers/boost-fiber.hpp"
#include "mutex.hpp"

int main(int argc, char** argv) {
  using library = bench::boost_fibers<>;
  bench::program program(argc, argv, library::version(), "fibers::mutex, with atomics as Debian builds it");
  program.require_one_worker("the default scheduler has one kernel thread");

  library::run([&] { bench::measure_uncontended<library>(program, "fiber"); });
}
