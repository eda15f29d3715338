// POSIX threads: see sysbench.hpp. sysbench itself is made of these.
#include "../peers/pthread.hpp"
#include "sysbench.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pthreads::version(), "default mutex, sched_yield",
                         bench::sysbench_parameters());
  bench::measure_sysbench<bench::pthreads>(program, "pthread");
}
