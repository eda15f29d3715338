// Boost.Fiber: see condvar.hpp.
#include "../peers/boost-fiber.hpp"
#include "condvar.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::boost_version(), "fibers::mutex, fibers::condition_variable");
  program.require_one_worker("the default scheduler has one kernel thread");

  bench::boost_fibers<>::run([&] { bench::measure_condvar<bench::boost_fibers<>>(program, "fiber"); });
}
