// sennit::no_yield_guard: a few statements in which a fiber is not made to yield.
// room: sched
//
//   {
//     const sennit::no_yield_guard together;
//     ++count, sum += value;  // no other fiber of this worker sees one without the other
//   }
//
// Only code that is compiled with checks can be made to yield (docs/compiler.md), where a runtime has a time
// slice.
#pragma once

#include <atomic>
#include <cassert>

#include "sennit/detail/sched/worker.hpp"

namespace sennit {

namespace detail {
// The guards are gone. At once, for the next check may be under a guard again.
[[gnu::cold]] void deferred_yield(worker& w) noexcept;
}  // namespace detail

// While it lives, the calling fiber is not made to yield; a yield that was due meanwhile comes at
// its end. It must not block or yield by itself before: others would run under its guard, and in a
// runtime of several workers it might go on elsewhere. Guards are nested. Nothing on a thread that is no
// worker.
class no_yield_guard {
public:
  no_yield_guard() noexcept : worker_(detail::this_worker()) {
    if (worker_ != nullptr)
      ++worker_->no_yield;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~no_yield_guard() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    assert(worker_ == detail::this_worker() && "sennit: a fiber has moved under its no_yield_guard");
    if (worker_ != nullptr && --worker_->no_yield == 0 && worker_->yield_deferred) [[unlikely]]
      detail::deferred_yield(*worker_);
  }
  no_yield_guard(const no_yield_guard&) = delete;
  no_yield_guard& operator=(const no_yield_guard&) = delete;

private:
  detail::worker* worker_;
};

}  // namespace sennit
