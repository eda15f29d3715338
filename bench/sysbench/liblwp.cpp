// LWP: see sysbench.hpp. The mutex is held across the yield, so its threads need one, too.
#include "../peers/liblwp.hpp"
#include "sysbench.hpp"

int main(int argc, char** argv) {
  using library = bench::lwp_locking;
  bench::program program(argc, argv, library::version(), "its lock, LWP_DispatchProcess",
                         bench::sysbench_parameters());
  program.require_one_worker("LWP has one kernel thread");

  library::run([&] { bench::measure_sysbench<library>(program, "lwp"); });
}
