// State Threads: see spawn.hpp.
#include "../peers/libst.hpp"
#include "spawn.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::state_threads<bench::idiom>::version(),
                         "st_thread_create with 64 KiB stacks, which it keeps");
  program.require_one_worker("State Threads has one kernel thread");

  bench::state_threads<bench::idiom>::run(
      [&] { bench::measure_spawn<bench::state_threads<bench::idiom>>(program, "st"); });
}
