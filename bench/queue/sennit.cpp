// Sennit: see queue.hpp.
#include "queue.hpp"

#include "../peers/sennit.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version, "one worker, fifo, 64 KiB pooled stacks");
  program.require_one_worker("the parallel runtime is not built yet");

  bench::sennit_local::run([&] { bench::measure_queue<bench::sennit_local>(program, "local"); });
}
