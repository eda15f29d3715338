// Fibers that compute beside one that is woken all the time, on one worker with a time slice:
// bench_computing [TURNS [leave]]. With `leave`, they give up their stacks when they are forced to yield.
// For ./run tables, which counts why they block.
//
// The checks that the plugin would place are written here, so that any compiler will do.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/detail/sched/time_slice.hpp"
#include "sennit/fiber.hpp"
#include "sennit/runtime.hpp"

namespace {

// As the plugin's check in a loop.
void compute(const bool* over) {
  while (!*over)
    if (__atomic_load_n(&sennit_yield_requested, __ATOMIC_RELAXED) != 0)
      sennit_forced_yield();
}

void compute_without_stack(const bool* over) {
  sennit::this_fiber::set_yield_continuation(compute_without_stack, over);
  compute(over);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  const int turns = argc > 1 ? std::atoi(argv[1]) : 100;
  const bool leave = argc > 2 && std::string_view(argv[2]) == "leave";
  bool over = false;
  sennit::runtime({.workers = 1, .time_slice = 100us}).run([&] {
    std::vector<sennit::fiber> computing;
    for (int i = 0; i < 3; ++i)
      computing.push_back(sennit::spawn(
          sennit::become(sennit::this_fiber::yielding(), leave ? compute_without_stack : compute, &over)));
    for (int i = 0; i < turns; ++i)
      sennit::this_fiber::sleep_for(100us);
    over = true;
    for (sennit::fiber& each : computing)
      each.join();
  });
  std::printf("the fiber that sleeps had its %d turns beside three that compute\n", turns);
}
