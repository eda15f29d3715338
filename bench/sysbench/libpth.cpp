// GNU Pth: see sysbench.hpp.
#include "../peers/libpth.hpp"
#include "sysbench.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pth::version(), "pth_mutex, pth_yield to whoever is next",
                         bench::sysbench_parameters());
  program.require_one_worker("Pth has one kernel thread");

  bench::pth::run([&] { bench::measure_sysbench<bench::pth>(program, "pth"); });
}
