// Sennit: see mutex.hpp.
#include "mutex.hpp"

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version,
                         "local::mutex; mutex (barging), where on 1 worker the second one sleeps");
  if (program.workers() == 1) {
    bench::sennit_local::run([&] { bench::measure_uncontended<bench::sennit_local>(program, "local"); });
    bench::sennit_parallel::run(1, bench::second_worker::sleeps, [&] {
      bench::measure_uncontended<bench::sennit_parallel>(program, "parallel");
    });
  } else {
    bench::sennit_parallel::run(program.workers(), bench::second_worker::sleeps, [&] {
      bench::measure_contended<bench::sennit_parallel>(program, "parallel");
    });
  }
}
