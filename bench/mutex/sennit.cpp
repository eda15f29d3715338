// Sennit: see mutex.hpp.
#include "mutex.hpp"

#include "../peers/sennit.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version, "local::mutex");
  program.require_one_worker("the parallel runtime is not built yet");

  bench::sennit_local::run([&] { bench::measure_uncontended<bench::sennit_local>(program, "local"); });
}
