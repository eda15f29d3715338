// Stacks of a peak go back to the stack room, whose idle ones keep few pages: who is about to sleep gives
// some back now and then, and sleeps no longer than until it is to give back more. A worker keeps the
// most_idle that it used last. What all workers of a parallel runtime may take goes when none of them has
// taken any for a while.
#pragma once

#include <chrono>
#include <cstddef>

#include "sennit/detail/sched/fiber.hpp"

struct sennit_worker;

namespace sennit::detail {

struct parallel_runtime;

struct idle_stacks {
  static constexpr std::size_t most_idle = 128;
  static constexpr std::size_t at_once = 256;  // what is to run then does not wait long
  static constexpr std::chrono::milliseconds soon{5};
  static constexpr std::chrono::milliseconds later{250};

  std::size_t made = 0;  // a worker's: if these are few, there is no need to look
  bool taken = false;    // a parallel runtime's: since the last look
  time_point due{};
};

// When a worker that may sleep until `until` is to look again. `looked`: there was no more to give back,
// which holds until somebody runs.
time_point trim_idle_stacks(sennit_worker& w, time_point until, bool& looked) noexcept;
time_point trim_idle_stacks(parallel_runtime& of, time_point until) noexcept;

}  // namespace sennit::detail
