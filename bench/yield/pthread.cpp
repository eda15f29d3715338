// POSIX threads: see yield.hpp.
#include "../peers/pthread.hpp"
#include "yield.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pthreads::version(), "sched_yield", bench::yield_parameters());

  bench::pthreads::run([&] { bench::measure_yield<bench::pthreads>(program, "sched_yield"); });
}
