// GNU Pth: see yield.hpp.
#include "../peers/libpth.hpp"
#include "yield.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pth::version(), "pth_yield to whoever is next",
                         bench::yield_parameters());
  program.require_one_worker("Pth has one kernel thread");

  bench::pth::run([&] { bench::measure_yield<bench::pth>(program, "pth"); });
}
