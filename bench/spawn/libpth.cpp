// GNU Pth: see spawn.hpp.
#include "../peers/libpth.hpp"
#include "spawn.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pth::version(), "pth_spawn with 64 KiB stacks");
  program.require_one_worker("Pth has one kernel thread");

  bench::pth::run([&] { bench::measure_spawn<bench::pth>(program, "pth"); });
}
