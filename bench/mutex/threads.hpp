// What the two libraries of kernel threads share in the mutex workload: glibc locks without atomics while a
// process has one thread, so the uncontended mutex is measured both before and after a second, idle thread
// exists.
#pragma once

#include "mutex.hpp"

namespace bench {

template <class Library>
void measure_thread_mutex(program& program) {
  if (program.workers() > 1) {
    measure_contended<Library>(program, "threads");
    return;
  }
  measure_uncontended<Library>(program, "single-threaded");

  typename Library::mutex gate;
  gate.lock();
  typename Library::fiber idle(
      [](void* argument) -> void* {
        auto& closed = *static_cast<typename Library::mutex*>(argument);
        closed.lock();
        closed.unlock();
        return nullptr;
      },
      &gate);
  measure_uncontended<Library>(program, "threads");
  gate.unlock();
  idle.join();
}

}  // namespace bench
