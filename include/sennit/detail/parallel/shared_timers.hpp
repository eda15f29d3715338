// The deadlines of a parallel runtime's fibers.
#pragma once

#include <atomic>

#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/sched/claim.hpp"
#include "sennit/detail/sched/fiber.hpp"
#include "sennit/detail/timer/timer_wheel.hpp"

namespace sennit::inline v0_1::detail {

class shared_timers;

// Takes a claim when the deadline of its fiber's wait has passed. The destructor cancels it.
class fiber_timer final : timer_node {
public:
  fiber_timer() = default;
  inline ~fiber_timer();
  // Call it once, in a fiber. The deadline may be `never`.
  void arm(fiber& who, wait_claim& claim, time_point deadline) noexcept;

private:
  friend shared_timers;
  fiber* who_ = nullptr;
  wait_claim* claim_ = nullptr;
  shared_timers* at_ = nullptr;  // where it was added
};

// A worker's timers. Any worker may add, cancel and fire them, under the lock.
class shared_timers {
public:
  void add(fiber_timer& timer, time_point deadline) noexcept;
  void cancel(fiber_timer& timer) noexcept;
  // Makes the fibers whose deadlines have passed ready, on the calling worker.
  void fire_due(time_point now) noexcept;
  // May be slightly old.
  time_point earliest() const noexcept {
    return time_point(clock::duration(earliest_.load(std::memory_order_relaxed)));
  }

private:
  void note_earliest() noexcept SENNIT_REQUIRES(lock_);

  spin_lock lock_;
  timer_wheel wheel_ SENNIT_GUARDED_BY(lock_);
  std::atomic<clock::rep> earliest_{never.time_since_epoch().count()};
};

fiber_timer::~fiber_timer() {
  if (at_ != nullptr)
    at_->cancel(*this);
}

}  // namespace sennit::inline v0_1::detail
