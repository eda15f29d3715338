// Sennit under each of its run-queue policies: see policy.hpp.
#include "policy.hpp"

#include "../peers/sennit.hpp"

int main(int argc, char** argv) {
  using library = bench::sennit_local;
  bench::program program(argc, argv, bench::sennit_version, "one worker, 64 KiB pooled stacks",
                         bench::policy_parameters());
  program.require_one_worker("the parallel runtime is not built yet");

  library::run([&] { bench::measure_policy<library>(program, "fifo"); }, sennit::run_policy::fifo);
  library::run([&] { bench::measure_policy<library>(program, "lifo"); }, sennit::run_policy::lifo);
  library::run([&] { bench::measure_policy<library>(program, "hybrid"); }, sennit::run_policy::hybrid);
}
