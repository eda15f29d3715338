// GNU Pth: see mutex.hpp.
#include "../peers/libpth.hpp"
#include "mutex.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pth::version(), "pth_mutex, no atomics");
  program.require_one_worker("Pth has one kernel thread");

  bench::pth::run([&] { bench::measure_uncontended<bench::pth>(program, "pth"); });
}
