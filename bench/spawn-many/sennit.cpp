// Sennit: see spawn-many.hpp.
#include "spawn-many.hpp"

#include <string>

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version,
                         "fifo, 64 KiB stacks; parallel on 1 worker: the second one is in a system call",
                         {bench::live_fibers()});
  if (program.workers() == 1 && program.run_each({"local", "parallel"}, argv))
    return 0;
  if (program.wants("local") && program.workers() == 1)
    bench::sennit_local::run([&] { bench::measure_spawn_many<bench::sennit_local>(program, "local"); });
  if (program.wants("parallel"))
    bench::sennit_parallel::run(program.workers(), bench::second_worker::held, [&] {
      bench::measure_spawn_many<bench::sennit_parallel>(program, "parallel");
    });
}
