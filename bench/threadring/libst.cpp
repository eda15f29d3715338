// State Threads: see threadring.hpp.
#include "../peers/libst.hpp"
#include "threadring.hpp"

int main(int argc, char** argv) {
  using library = bench::state_threads<bench::idiom>;
  bench::program program(argc, argv, library::version(),
                         "8 KiB stacks, condition variables, no mutex (its own idiom)",
                         bench::threadring_parameters());
  program.require_one_worker("State Threads has one kernel thread");

  library::run([&] { bench::measure_threadring<library>(program, "st", 8 * 1024); });
}
