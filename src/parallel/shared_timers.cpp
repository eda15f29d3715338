// The deadlines of parallel runtimes' fibers.
#include "sennit/detail/parallel/shared_timers.hpp"

#include "sennit/detail/parallel/worker_inline.hpp"

namespace sennit::inline v0_1::detail {

void fiber_timer::arm(fiber& who, wait_claim& claim, time_point deadline) noexcept {
  if (deadline == never)
    return;
  who_ = &who;
  claim_ = &claim;
  at_ = &running_parallel().timers;
  at_->add(*this, deadline);
}

void shared_timers::note_earliest() noexcept {
  earliest_.store(wheel_.earliest().time_since_epoch().count(), std::memory_order_relaxed);
}

void shared_timers::add(fiber_timer& timer, time_point when) noexcept {
  const lock_holder hold(lock_);
  wheel_.add(timer, when);
  note_earliest();
}

void shared_timers::cancel(fiber_timer& timer) noexcept {
  const lock_holder hold(lock_);
  wheel_.remove(timer);
  note_earliest();
}

void shared_timers::fire_due(time_point now) noexcept {
  for (;;) {
    lock_.lock();
    auto* due = static_cast<fiber_timer*>(wheel_.take_due(now));
    fiber* const who = due != nullptr ? due->who_ : nullptr;
    // Under the lock: once the claim is taken, only the lock keeps the timer alive.
    const claim_result result =
        due != nullptr ? due->claim_->take(claim_state::timed_out) : claim_result::lost;
    if (due == nullptr)
      note_earliest();
    lock_.unlock();
    if (due == nullptr)
      return;
    if (result == claim_result::won && recognize(*who))
      parallel_ready_back(*who, fiber_status::timed_out);
  }
}

}  // namespace sennit::inline v0_1::detail
