// A thread that looks at all workers now and then, as long as a runtime asks for it: is one stuck in a fiber?
//
// It is a thread of its own, though workers watch each other (parallel_worker.cpp): there may be only one, or
// all of them may be stuck. It reads what is written anyway, so who runs fibers does nothing for it.
#pragma once

#include "sennit/detail/sched/fiber.hpp"

namespace sennit::detail {

struct watchdog_wish {
  clock::duration stuck_after{0};  // 0, or below: nothing is to be said of stuck workers

  bool watches_stuck() const noexcept {
    return stuck_after > clock::duration::zero() && stuck_after != clock::duration::max();
  }
};

struct watchdog;  // in watchdog.cpp: who looks

// Who wants it, for as long as it lives. Throws std::system_error when there can be no thread.
class watchdog_use {
public:
  explicit watchdog_use(const watchdog_wish& wish);
  ~watchdog_use();
  watchdog_use(const watchdog_use&) = delete;
  watchdog_use& operator=(const watchdog_use&) = delete;

  const watchdog_wish wish;
  watchdog* by = nullptr;
  watchdog_use* next = nullptr;
  watchdog_use* previous = nullptr;
};

// What it has last seen a worker do. The thread's alone.
struct watched_run {
  unsigned dispatches = 0;
  const fiber* runs = nullptr;
  time_point since;  // the look that saw it first
  bool reported = false;
};

}  // namespace sennit::detail
