// GNU Pth: see queue.hpp.
#include "../peers/libpth.hpp"
#include "queue.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pth::version(), "pth_mutex, pth_cond");
  program.require_one_worker("Pth has one kernel thread");

  bench::pth::run([&] { bench::measure_queue<bench::pth>(program, "pth"); });
}
