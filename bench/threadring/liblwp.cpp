// LWP: see threadring.hpp.
#include "../peers/liblwp.hpp"
#include "threadring.hpp"

int main(int argc, char** argv) {
  using library = bench::lwp_idiom;
  bench::program program(argc, argv, library::version(), "16 KiB stacks; events, no mutex (its own idiom)",
                         bench::threadring_parameters());
  program.require_one_worker("LWP has one kernel thread");

  const bench::ring_limit limit = {1000, "every signal looks at all waiting threads"};
  library::run([&] { bench::measure_threadring<library>(program, "lwp", 16 * 1024, limit); });
}
