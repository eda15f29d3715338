// Boost.Fiber: see spawn-many.hpp.
#include "../peers/boost-fiber.hpp"
#include "spawn-many.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::boost_version(), "pooled stacks; post queues the child",
                         {bench::live_fibers()});
  program.require_one_worker("the default scheduler has one kernel thread");
  bench::boost_fibers<>::run(
      [&] { bench::measure_spawn_many<bench::boost_fibers<boost::fibers::launch::post>>(program, "post"); });
}
