// State Threads: see rpc.hpp. Its own idiom, without mutexes.
#include "../peers/libst.hpp"

#include "rpc.hpp"

int main(int argc, char** argv) {
  using library = bench::state_threads<bench::idiom>;
  bench::program program(argc, argv, library::version(),
                         "condition variables without a mutex (its own idiom)", bench::rpc_parameters());
  program.require_one_worker("State Threads has one kernel thread");
  library::run([&] {
    bench::measure_condition_port<library>(
        program, "no-mutex", 16 * 1024,
        {30'000, "each stack is two mappings, and 65,530 is the default limit"});
  });
}
