// Fibers that compute beside one that is woken all the time, on one worker with a time slice:
// bench_computing [TURNS]. For ./run tables, which counts why they block.
//
// The checks that the plugin would place are written here, so that any compiler will do.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "sennit/detail/sched/time_slice.hpp"
#include "sennit/fiber.hpp"
#include "sennit/runtime.hpp"

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  const int turns = argc > 1 ? std::atoi(argv[1]) : 100;
  bool over = false;
  sennit::runtime({.workers = 1, .time_slice = 100us}).run([&] {
    std::vector<sennit::fiber> computing;
    for (int i = 0; i < 3; ++i)
      computing.push_back(sennit::spawn([&over] {
        while (!over)
          if (__atomic_load_n(&sennit_yield_requested, __ATOMIC_RELAXED) != 0)
            sennit_forced_yield();
      }));
    for (int i = 0; i < turns; ++i)
      sennit::this_fiber::sleep_for(100us);
    over = true;
    for (sennit::fiber& each : computing)
      each.join();
  });
  std::printf("the fiber that sleeps had its %d turns beside three that compute\n", turns);
}
