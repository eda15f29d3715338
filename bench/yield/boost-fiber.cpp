// Boost.Fiber: see yield.hpp.
#include "../peers/boost-fiber.hpp"
#include "yield.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::boost_version(), "round_robin scheduler, pooled stacks",
                         bench::yield_parameters());
  program.require_one_worker("the default scheduler has one kernel thread");

  bench::boost_fibers<>::run([&] { bench::measure_yield<bench::boost_fibers<>>(program, "fiber"); });
}
