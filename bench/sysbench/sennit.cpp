// Sennit: see sysbench.hpp.
#include "sysbench.hpp"

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version,
                         "local::mutex; mutex (barging), fifo; parallel on 1 worker: the second one is held",
                         bench::sysbench_parameters());
  if (program.workers() == 1)
    bench::sennit_local::run([&] { bench::measure_sysbench<bench::sennit_local>(program, "local"); });
  bench::sennit_parallel::run(program.workers(), bench::second_worker::held,
                              [&] { bench::measure_sysbench<bench::sennit_parallel>(program, "parallel"); });
}
