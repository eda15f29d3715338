// POSIX threads: see rpc.hpp.
#include "../peers/pthread.hpp"

#include "rpc.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pthreads::version(), "pthread_mutex_t, pthread_cond_t",
                         bench::rpc_parameters());
  bench::pthreads::run([&] {
    bench::measure_condition_port<bench::pthreads>(
        program, "thread", 64 * 1024, {1'000, "a kernel thread each: the machine has no room for so many"});
  });
}
