// sennit::no_yield_guard: a block in which a fiber is not made to yield.
// room: sched
//
//   {
//     const sennit::no_yield_guard together;
//     ++count, sum += value;  // no other fiber of this worker sees one without the other
//   }
//
// Only code that is compiled with checks can be made to yield (docs/explanation/preemption.md), and only if
// its runtime has a time slice. For single functions there is SENNIT_NO_YIELD.
#pragma once

#include <atomic>

#include "sennit/detail/sched/worker.hpp"
#include "sennit/no_yield.h"

namespace sennit::inline v0_1 {

namespace detail {
/// Called when nothing prevents a yield any more. It yields at once, because the next check may be under a
/// guard again.
[[gnu::cold]] void deferred_yield(worker& w) noexcept;

/// The counter of reasons that prevent a yield of the running fiber; null if no fiber runs.
inline std::uint32_t* no_yield_count() noexcept {
  worker* const w = this_worker();
  coroutine_frame* const frame =
      w != nullptr && w->ready.running() ? fiber_frame(*w->ready.current) : nullptr;
  return frame != nullptr ? &frame->no_yield : nullptr;
}
inline void begin_no_yield() noexcept {
  if (std::uint32_t* const count = no_yield_count())
    ++*count;
}
/// Surplus ends have no effect.
inline void end_no_yield() noexcept {
  std::uint32_t* const count = no_yield_count();
  if (count == nullptr || *count == 0 || --*count != 0)
    return;
  if (worker* const w = this_worker(); w->yield_deferred) [[unlikely]]
    deferred_yield(*w);
}
}  // namespace detail

/// While it lives, the calling fiber is not made to yield, whatever it calls. A yield that was due
/// meanwhile takes place at its end. Guards are nested.
///
/// Other fibers still run when the fiber waits or yields by itself; the guard is still in effect when it
/// resumes, on whichever worker. Do not hold it in a coroutine across a suspension. It has no effect on a
/// thread that runs no fiber.
class no_yield_guard {
public:
  /// Prevents yields at checks from now on.
  no_yield_guard() noexcept {
    detail::begin_no_yield();
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  /// Allows them again, and yields if that was due.
  ~no_yield_guard() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    detail::end_no_yield();
  }
  no_yield_guard(const no_yield_guard&) = delete;
  no_yield_guard& operator=(const no_yield_guard&) = delete;
};

}  // namespace sennit::inline v0_1
