// GNU Pth: see condvar.hpp.
#include "../peers/libpth.hpp"
#include "condvar.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pth::version(), "pth_cond_await, pth_cond_notify");
  program.require_one_worker("Pth has one kernel thread");

  bench::pth::run([&] { bench::measure_condvar<bench::pth>(program, "pth"); });
}
