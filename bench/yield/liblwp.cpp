// LWP: see yield.hpp.
#include "../peers/liblwp.hpp"
#include "yield.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::lwp_idiom::version(), "LWP_DispatchProcess",
                         bench::yield_parameters());
  program.require_one_worker("LWP has one kernel thread");

  bench::lwp_idiom::run([&] { bench::measure_yield<bench::lwp_idiom>(program, "lwp"); });
}
