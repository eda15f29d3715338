// Sennit: see grain.hpp. A fiber for each task; those who are spawned are joined, those of `scope` it waits
// for.
#include "grain.hpp"

#include "../peers/sennit-parallel.hpp"
#include "sennit/scope.hpp"

namespace {

constexpr auto by_join = [](auto compute) {
  std::vector<sennit::fiber> tasks;
  tasks.reserve(bench::grain_tasks);
  for (std::size_t i = 0; i < bench::grain_tasks; ++i)
    tasks.push_back(sennit::spawn([compute, i] { compute(i); }));
  for (sennit::fiber& each : tasks)
    each.join();
};

constexpr auto by_scope = [](auto compute) {
  sennit::scope scope;
  for (std::size_t i = 0; i < bench::grain_tasks; ++i)
    scope.spawn([compute, i] { compute(i); });
  scope.join();
};

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, "this checkout",
                         "spawn and join, 64 KiB pooled stacks; 1 worker: the second one is held",
                         bench::grain_parameters());
  bench::sennit_parallel::run(program.workers(), bench::second_worker::held, [&] {
    bench::measure_grain(program, "parallel", by_join);
    bench::measure_grain(program, "parallel-scope", by_scope);
  });
}
