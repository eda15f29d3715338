// Returns stacks of a load peak to the stack room, whose idle stacks keep few pages. A worker that is about
// to sleep gives some back now and then, and sleeps only until more are due. It keeps the most_idle stacks
// that it used last. Shared stacks of a parallel runtime are given back when no worker has taken one for a
// while.
#pragma once

#include <cstddef>

#include "sennit/detail/sched/fiber.hpp"
#include "sennit/detail/timer/chrono.hpp"

struct sennit_worker;

namespace sennit::inline v0_1::detail {

struct idle_stacks {
  static constexpr std::size_t most_idle = 128;
  static constexpr std::size_t at_once = 256;  // few enough that fibers that become ready do not wait long
  static constexpr std::chrono::milliseconds soon{5};
  static constexpr std::chrono::milliseconds later{250};

  std::size_t made = 0;  // (worker) if few, there is nothing to give back
  bool taken = false;    // (parallel runtime) a worker has taken one since the last look
  time_point due{};

  // Takes up to at_once finished fibers off a list, and returns them.
  static fiber* cut(fiber*& list) noexcept;
  // Gives back the fibers of a list, and their stacks. Returns how many there were.
  static std::size_t destroy(fiber* list) noexcept;
};

// Returns until when a worker that may sleep until `until` should sleep. Sets `looked` when there is no more
// to give back. That holds until a fiber runs.
time_point trim_idle_stacks(sennit_worker& w, time_point until, bool& looked) noexcept;

}  // namespace sennit::inline v0_1::detail
