// sennit::no_yield_guard: a few statements in which a fiber is not made to yield.
// room: sched
//
//   {
//     const sennit::no_yield_guard together;
//     ++count, sum += value;  // no other fiber of this worker sees one without the other
//   }
//
// Only code that is compiled with checks can be made to yield (docs/compiler.md), where a runtime has a time
// slice. For single functions there is SENNIT_NO_YIELD.
#pragma once

#include <atomic>

#include "sennit/detail/sched/worker.hpp"
#include "sennit/no_yield.h"

namespace sennit {

namespace detail {
// Nothing holds the fiber that runs any more. At once, for the next check may be under a guard again.
[[gnu::cold]] void deferred_yield(worker& w) noexcept;

// Where it is counted what keeps the running fiber from being made to yield; null: no fiber runs.
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
// Of more ends than beginnings, the rest are nothing.
inline void end_no_yield() noexcept {
  std::uint32_t* const count = no_yield_count();
  if (count == nullptr || *count == 0 || --*count != 0)
    return;
  if (worker* const w = this_worker(); w->yield_deferred) [[unlikely]]
    deferred_yield(*w);
}
}  // namespace detail

// While it lives, the calling fiber is not made to yield, whatever it calls; a yield that was due meanwhile
// comes at its end. Guards are nested. Others run when the fiber waits or yields by itself; the guard holds
// still when it goes on, wherever that is. In a coroutine, not across what suspends that. Nothing on a thread
// that runs no fiber.
class no_yield_guard {
public:
  no_yield_guard() noexcept {
    detail::begin_no_yield();
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~no_yield_guard() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    detail::end_no_yield();
  }
  no_yield_guard(const no_yield_guard&) = delete;
  no_yield_guard& operator=(const no_yield_guard&) = delete;
};

}  // namespace sennit
