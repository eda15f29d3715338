// How late a fiber wakes that sleeps a millisecond again and again, beside fibers that leave it little: 100
// that yield, one in blocking system calls, one that computes and never gives way, and one that starts 100 at
// a time, which compute: an unbalanced load, of which others get something by stealing only. 99 of 100 times
// it is less late.
#pragma once

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "../support/bench.hpp"

namespace bench {

using beat_clock = std::chrono::steady_clock;

/// How late the beats were, in microseconds.
template <class Sleep>
std::vector<double> lateness(std::uint64_t beats, Sleep sleep_until) {
  std::vector<double> late;
  late.reserve(beats);
  for (std::uint64_t i = 0; i < beats; ++i) {
    const auto due = beat_clock::now() + std::chrono::milliseconds(1);
    sleep_until(due);
    late.push_back(std::chrono::duration<double, std::micro>(beat_clock::now() - due).count());
  }
  return late;
}

/// Blocks the thread, again and again.
inline void block(const std::atomic<bool>& over) {
  while (!over.load(std::memory_order_relaxed)) {
    const timespec long_time{0, 20'000'000};
    ::nanosleep(&long_time, nullptr);
  }
}

inline void compute(const std::atomic<bool>& over) {
  while (!over.load(std::memory_order_relaxed))
    touch_memory();
}

/// Starts 100 fibers that compute for 20 microseconds each, waits for them, and begins again.
template <class Start>
void spawn_bursts(const std::atomic<bool>& over, Start start) {
  while (!over.load(std::memory_order_relaxed)) {
    std::vector<decltype(start([] {}))> burst;
    for (int i = 0; i < 100; ++i)
      burst.push_back(start([] {
        const auto end = beat_clock::now() + std::chrono::microseconds(20);
        while (beat_clock::now() < end)
          touch_memory();
      }));
    for (auto& each : burst)
      each.join();
  }
}

/// `start(function)` starts a fiber and returns what can be joined, `yield()` gives way, `sleep_until(time)`.
template <class Start, class Yield, class Sleep>
void measure_heartbeat(program& program, const char* variant, Start start, Yield yield, Sleep sleep_until) {
  if (program.workers() < 2) {
    program.unsupported(variant, {}, "who never gives way needs a worker for itself");
    return;
  }
  const auto measure = [&](const char* beside, int fibers, auto busy) {
    program.measure_p99(variant, {{"beside", beside}}, [&](std::uint64_t beats) {
      std::atomic<bool> over{false};
      std::vector<double> late;
      std::vector<decltype(start([] {}))> others;
      for (int i = 0; i < fibers; ++i)
        others.push_back(start([&] { busy(over); }));
      auto heart = start([&] { late = lateness(beats, sleep_until); });
      heart.join();
      over = true;
      for (auto& each : others)
        each.join();
      return late;
    });
  };
  measure("nobody", 0, compute);
  measure("100 that yield", 100, [&](const std::atomic<bool>& over) {
    while (!over.load(std::memory_order_relaxed))
      yield();
  });
  measure("one that blocks", 1, block);
  measure("one that computes", 1, compute);
  measure("one that starts 100 at a time", 1,
          [&](const std::atomic<bool>& over) { spawn_bursts(over, start); });
}

}  // namespace bench
