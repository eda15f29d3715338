// Sennit: see queue.hpp.
#include "queue.hpp"

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version,
                         "fifo, 64 KiB pooled stacks; parallel on 1 worker: the second one is held");
  if (program.workers() == 1)
    bench::sennit_local::run([&] { bench::measure_queue<bench::sennit_local>(program, "local"); });
  bench::sennit_parallel::run(program.workers(), bench::second_worker::held,
                              [&] { bench::measure_queue<bench::sennit_parallel>(program, "parallel"); });
}
