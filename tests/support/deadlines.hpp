// Deadlines of tests.
#pragma once

#include <chrono>

namespace support {

inline std::chrono::steady_clock::time_point past() {
  return std::chrono::steady_clock::now() - std::chrono::seconds(1);
}
inline std::chrono::steady_clock::time_point soon() {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
}
// Longer than a test may take: a waiter whose wake-up was lost waits until the test is ended.
inline std::chrono::steady_clock::time_point generous() {
  return std::chrono::steady_clock::now() + std::chrono::minutes(10);
}

}  // namespace support
