// One lock and unlock: uncontended (fibers 1) by one fiber; contended (fibers 2) by two that each have a
// worker.
#pragma once

#include <cstdint>
#include <vector>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"

namespace bench {

/// Call it from a fiber. The mutex is an object the compiler knows nothing of, anew each time.
template <class Library>
void measure_uncontended(program& program, const char* variant) {
  typename Library::mutex mutex;
  program.measure(variant, {{"fibers", 1}}, "pair", 1, [&](std::uint64_t count) {
    for (; count != 0; --count) {
      auto* const locked = opaque(&mutex);
      locked->lock();
      touch_memory();
      locked->unlock();
    }
  });
}

template <class Library>
struct contender {
  typename Library::mutex mutex;
  std::uint64_t count = 0;
  std::uint64_t locked = 0;

  static BENCH_INLINE void run(void* argument) {
    auto& shared = *static_cast<contender*>(argument);
    for (std::uint64_t left = shared.count; left != 0; --left) {
      shared.mutex.lock();
      ++shared.locked;
      shared.mutex.unlock();
    }
  }
};

/// Call it from a fiber, with two workers or more.
template <class Library>
void measure_contended(program& program, const char* variant) {
  constexpr int fibers = 2;
  program.measure(variant, {{"fibers", fibers}}, "pair", fibers, [](std::uint64_t count) {
    contender<Library> shared;
    shared.count = count;
    std::vector<typename Library::fiber> running;
    for (std::size_t i = 0; i < fibers; ++i)
      running.emplace_back(distinct_entry<contender<Library>>(i), &shared);
    for (auto& each : running)
      each.join();
    require(shared.locked == fibers * count, "the mutex let two in at once");
  });
}

}  // namespace bench
