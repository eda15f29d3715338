// Boost.Fiber in its default policy, FIFO: see policy.hpp.
#include "../peers/boost-fiber.hpp"
#include "policy.hpp"

int main(int argc, char** argv) {
  using library = bench::boost_fibers<>;
  bench::program program(argc, argv, library::version(), "round_robin scheduler, pooled stacks",
                         bench::policy_parameters());
  program.require_one_worker("the default scheduler has one kernel thread");

  library::run([&] { bench::measure_policy<library>(program, "round_robin"); });
}
