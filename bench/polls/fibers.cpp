// In fibers: a pair of lock and unlock, in ns, which code with checks counts for the fiber; and a look of the
// thread of time slices at a worker, in ns of processor time, while only one fiber computes.
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "sennit/detail/sched/time_slice.hpp"
#include "sennit/local/runtime.hpp"

namespace {

using namespace std::chrono_literals;

double now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double lock_and_unlock() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  constexpr int times = 1'000'000;
  const double begin = now(CLOCK_MONOTONIC);
  for (int i = 0; i < times; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  return (now(CLOCK_MONOTONIC) - begin) / times;
}

// All that the process's other threads use, there being one.
double look() {
  constexpr int times = 300;
  const std::uint64_t first = sennit::detail::see_time_slices().count;
  const double begin = now(CLOCK_PROCESS_CPUTIME_ID) - now(CLOCK_THREAD_CPUTIME_ID);
  while (sennit::detail::see_time_slices().count < first + times) {
  }
  return (now(CLOCK_PROCESS_CPUTIME_ID) - now(CLOCK_THREAD_CPUTIME_ID) - begin) / times;
}

}  // namespace

int main() {
  double least = 1e9;
  sennit::local::runtime().run([&] {
    for (int round = 0; round < 10; ++round)
      least = std::min(least, lock_and_unlock());
  });
  std::printf("lock %.1f\n", least);
  sennit::local::runtime({.time_slice = 1ms}).run([] { std::printf("look %.0f\n", look()); });
}
