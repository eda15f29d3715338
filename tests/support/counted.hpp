// What counts how many of it live, copies among them.
#pragma once

#include <atomic>

namespace support {

struct counted {
  explicit counted(std::atomic<int>& among) noexcept : alive(&among) { ++*alive; }
  counted(const counted& other) noexcept : alive(other.alive) { ++*alive; }
  counted& operator=(const counted&) = delete;
  ~counted() { --*alive; }
  std::atomic<int>* alive;
};

}  // namespace support
