// State Threads: see mutex.hpp.
#include "../peers/libst.hpp"
#include "mutex.hpp"

int main(int argc, char** argv) {
  using library = bench::state_threads<bench::locking>;
  bench::program program(argc, argv, library::version(), "st_mutex, no atomics");
  program.require_one_worker("State Threads has one kernel thread");

  library::run([&] { bench::measure_uncontended<library>(program, "st"); });
}
