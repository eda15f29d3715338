// State Threads: see sysbench.hpp. The mutex is held across the yield, so its threads need one, too.
#include "../peers/libst.hpp"
#include "sysbench.hpp"

int main(int argc, char** argv) {
  using library = bench::state_threads<bench::locking>;
  bench::program program(argc, argv, library::version(), "st_mutex, st_usleep(0)",
                         bench::sysbench_parameters());
  program.require_one_worker("State Threads has one kernel thread");

  library::run([&] { bench::measure_sysbench<library>(program, "st"); });
}
