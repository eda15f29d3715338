// GNU Pth: see threadring.hpp.
#include "../peers/libpth.hpp"
#include "threadring.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pth::version(), "16 KiB stacks, pth_mutex, pth_cond",
                         bench::threadring_parameters());
  program.require_one_worker("Pth has one kernel thread");

  const bench::ring_limit limit = {1000,
                                   "every switch looks at all waiting threads, which takes 0.1 ms and more"};
  bench::pth::run([&] { bench::measure_threadring<bench::pth>(program, "pth", 16 * 1024, limit); });
}
