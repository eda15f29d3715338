// POSIX threads: see spawn.hpp.
#include "../peers/pthread.hpp"
#include "spawn.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pthreads::version(),
                         "pthread_create, 64 KiB stacks, which glibc keeps");

  bench::pthreads::run([&] { bench::measure_spawn<bench::pthreads>(program, "pthread"); });
}
