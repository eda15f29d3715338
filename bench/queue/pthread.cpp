// POSIX threads: see queue.hpp.
#include "../peers/pthread.hpp"
#include "queue.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pthreads::version(), "default mutex and condition variables");

  bench::pthreads::run([&] { bench::measure_queue<bench::pthreads>(program, "pthread"); });
}
