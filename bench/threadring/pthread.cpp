// POSIX threads: see threadring.hpp.
#include "../peers/pthread.hpp"
#include "threadring.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pthreads::version(),
                         "16 KiB stacks, default mutex, condition variable", bench::threadring_parameters());
  const bench::ring_limit limit = {10'000, "more kernel threads than a machine in use should be asked for"};
  bench::measure_threadring<bench::pthreads>(program, "pthread", 16 * 1024, limit);
}
