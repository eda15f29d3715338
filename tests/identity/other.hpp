// What the shared object has.
#pragma once

#include <atomic>
#include <chrono>

#include "sennit/fiber.hpp"

using time_to_end = std::atomic<std::chrono::steady_clock::time_point>;

struct first_kind {
  void operator()(std::atomic<int>* turns) const noexcept { ++*turns; }
};

// A fiber that waits for it, by code of the shared object's own.
[[gnu::visibility("default")]] sennit::fiber begin_in_shared_object(const time_to_end& deadline,
                                                                    std::atomic<int>& turns);
// The address of that code.
[[gnu::visibility("default")]] const void* code_in_shared_object() noexcept;
