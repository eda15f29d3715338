// Sennit: select over local channels, and over those that any thread may use. See select.hpp.
#include "select.hpp"

#include "../peers/sennit-kinds.hpp"

int main(int argc, char** argv) {
  bench::program program(
      argc, argv, bench::sennit_version,
      "select over local::channel; over channel, where on 1 worker the second one is held");
  if (program.workers() == 1)
    bench::sennit_local::run([&] { bench::selecting<bench::local_kind>::measure(program, "local"); });
  bench::sennit_parallel::run(program.workers(), bench::second_worker::held,
                              [&] { bench::selecting<bench::parallel_kind>::measure(program, "parallel"); });
}
