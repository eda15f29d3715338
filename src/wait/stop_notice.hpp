// How a stop that any thread requested ends a wait of a local runtime's fiber.
#pragma once

#include "sennit/detail/sched/worker.hpp"

namespace sennit::inline v0_1::detail {

// Belongs to its owner, but outlives it while it is posted.
struct stop_notice final : posted {
  // Once; any thread, while it has its owner.
  void notify() noexcept;
  bool run() override;
  // The owner is destroyed: no thread calls notify() any more.
  void release() noexcept;

  fiber* who = nullptr;
  bool watched = false;  // the fiber waits, and may be stopped (used by its thread)
  bool came = false;     // a stop has come (used by its thread)
  bool ended = false;    // this has ended a wait (used by its thread)
  bool owned = true;
  bool sent = false;
};

// Ends a wait of a local runtime, on its worker's thread. Returns false if the fiber does not wait.
bool take_out_parked(fiber& f) noexcept;

}  // namespace sennit::inline v0_1::detail
