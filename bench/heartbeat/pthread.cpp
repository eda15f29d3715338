// POSIX threads: see heartbeat.hpp.
#include <sched.h>

#include <thread>

#include "../peers/pthread.hpp"
#include "heartbeat.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pthreads::version(), "a thread each");
  bench::measure_heartbeat(
      program, "", [](auto function) { return std::thread(function); }, [] { sched_yield(); },
      [](auto time) { std::this_thread::sleep_until(time); });
}
