// What two count at once, in programs with a planted race: each waits until so many others have counted.
#pragma once

#include <atomic>
#include <thread>

#include "sanitizer_detect.hpp"

inline int plain;
inline std::atomic<int> atomic{0};
inline std::atomic<int> counted{0};

// Orders nothing but in time: of two writes at the very same moment ThreadSanitizer may miss both.
inline void wait_for(int others) {
  while (counted.load(std::memory_order_relaxed) < others)
    std::this_thread::yield();
}

[[gnu::noinline]] inline void count() {
  if (planted::bug)
    ++plain;
  else
    ++atomic;
}
