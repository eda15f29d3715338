// Boost.Fiber: see spawn.hpp.
#include "../peers/boost-fiber.hpp"
#include "spawn.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::boost_version(),
                         "pooled stacks; post queues the child, dispatch enters it at once");
  program.require_one_worker("the default scheduler has one kernel thread");

  bench::boost_fibers<>::run([&] {
    bench::measure_spawn<bench::boost_fibers<boost::fibers::launch::post>>(program, "post");
    bench::measure_spawn<bench::boost_fibers<boost::fibers::launch::dispatch>>(program, "dispatch");
  });
}
