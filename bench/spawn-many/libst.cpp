// State Threads: see spawn-many.hpp.
#include "../peers/libst.hpp"
#include "spawn-many.hpp"

int main(int argc, char** argv) {
  using threads = bench::state_threads<bench::idiom>;
  bench::program program(argc, argv, threads::version(),
                         "st_thread_create with 64 KiB stacks, which it keeps",
                         {bench::live_fibers({1'000, 10'000})});  // two mappings each
  program.require_one_worker("State Threads has one kernel thread");
  threads::run([&] { bench::measure_spawn_many<threads>(program, "st"); });
}
