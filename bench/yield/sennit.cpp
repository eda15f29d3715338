// Sennit: see yield.hpp.
#include "yield.hpp"

#include "../peers/sennit.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version, "one worker, fifo, 64 KiB pooled stacks",
                         bench::yield_parameters());
  program.require_one_worker("the parallel runtime is not built yet");

  bench::sennit_local::run([&] { bench::measure_yield<bench::sennit_local>(program, "local"); });
}
