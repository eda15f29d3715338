// Sennit under each of its run-queue policies: see policy.hpp.
#include "policy.hpp"

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version,
                         "64 KiB pooled stacks; parallel on 1 worker: the second one is held",
                         bench::policy_parameters());
  const auto on_local = [&](const char* variant, sennit::run_policy policy) {
    using library = bench::sennit_local;
    library::run([&] { bench::measure_policy<library>(program, variant); }, policy);
  };
  const auto on_parallel = [&](const char* variant, sennit::run_policy policy) {
    using library = bench::sennit_parallel;
    library::run(
        program.workers(), bench::second_worker::held,
        [&] { bench::measure_policy<library>(program, variant); }, 64 * 1024, policy);
  };
  if (program.workers() == 1) {
    on_local("fifo", sennit::run_policy::fifo);
    on_local("lifo", sennit::run_policy::lifo);
    on_local("hybrid", sennit::run_policy::hybrid);
  }
  on_parallel("parallel-fifo", sennit::run_policy::fifo);
  on_parallel("parallel-lifo", sennit::run_policy::lifo);
  on_parallel("parallel-hybrid", sennit::run_policy::hybrid);
}
