// POSIX threads: see condvar.hpp.
#include "../peers/pthread.hpp"
#include "condvar.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pthreads::version(), "default mutex and condition variable");

  bench::pthreads::run([&] { bench::measure_condvar<bench::pthreads>(program, "pthread"); });
}
