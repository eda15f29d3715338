// Boost.Fiber: see rpc.hpp.
#include "../peers/boost-fiber.hpp"

#include "rpc.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::boost_version(), "fibers::mutex, fibers::condition_variable",
                         bench::rpc_parameters());
  program.require_one_worker("the default scheduler has one kernel thread");
  bench::boost_fibers<>::run(
      [&] { bench::measure_condition_port<bench::boost_fibers<>>(program, "fiber", 16 * 1024); });
}
