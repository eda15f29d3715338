// How a stop that was requested on any thread ends a wait of a local runtime's fiber.
#pragma once

#include "sennit/detail/sched/worker.hpp"

namespace sennit::detail {

// Its owner's, and not destroyed by that while it is posted.
struct stop_notice final : posted {
  // Once; any thread, while it has its owner.
  void tell() noexcept;
  bool run() override;
  // The owner goes: nobody calls tell() any more.
  void release() noexcept;

  fiber* who = nullptr;
  bool watched = false;  // it waits for what may be stopped: its thread's
  bool came = false;     // it has been told: its thread's
  bool ended = false;    // a wait, by this: its thread's
  bool owned = true;
  bool sent = false;
};

// Ends a wait of a local runtime, on its worker's thread. False: it does not wait.
bool take_out_parked(fiber& f) noexcept;

}  // namespace sennit::detail
