// Waits without a stack that need no object.
#include "sennit/detail/cont/waits.hpp"

#include "sennit/detail/wait/token_watch.hpp"
#include "sennit/detail/wait/wait.hpp"

namespace sennit::inline v0_1::detail {

bool park_wait::file(fiber& f, claim_state as) noexcept {
  if (!f.home->is_local())
    return f.permit.park(as);
  if (!f.flags.unpark_pending)
    f.flags.status = fiber_status::unpark;
  return !f.flags.unpark_pending;
}

bool park_wait::withdraw(fiber& f) noexcept {
  return f.permit.withdraw();
}

bool park_wait::was_unparked(fiber& self) noexcept {
  return self.home->is_local() ? std::exchange(self.flags.unpark_pending, false)
                               : self.permit.reopen() == claim_state::taken;
}

bool timed_park_wait::file(fiber& f, token_watch* stop) noexcept {
  const bool parallel = !f.home->is_local();
  if (parallel)
    timer_.emplace<fiber_timer>().arm(f, f.permit, until_);
  else if (!park_wait::file(f, claim_state::parked))
    return false;
  else if (until_ != never)
    timer_.emplace<local_timer>(f.home->deadlines, f, until_);
  if (stop != nullptr)
    stop->arm(f, &f.permit);
  return !parallel || park_wait::file(f, claim_state::parked);
}

bool yield_wait::file(fiber& f) noexcept {
  worker& w = *this_worker();
  std::atomic_ref(f.flags.status).store(fiber_status::notified, std::memory_order_relaxed);
  w.operations.requeue(w, f);
  return true;
}

bool sleep_wait::file(fiber& f, token_watch* stop) noexcept {
  if (f.home->is_local()) {
    f.flags.status = fiber_status::parked;
    timer_.emplace<local_timer>(f.home->deadlines, f, until_);
    if (stop != nullptr)
      stop->arm(f, nullptr);
    return true;
  }
  auto& mine = timer_.emplace<shared_timer>();
  mine.timer.arm(f, mine.claim, until_);
  if (stop != nullptr)
    stop->arm(f, &mine.claim);
  return mine.claim.park();
}

bool sleep_wait::withdraw(fiber&) noexcept {
  return timer_.get<shared_timer>()->claim.withdraw();
}

bool put_off_wait::woken(fiber& f) noexcept {
  const time_point until = deadline_->load(std::memory_order_acquire);
  if (until <= clock::now())
    return true;
  count_recognition(&f);
  return !file_until(f, until);
}

template <class Handle>
bool join_wait<Handle>::file(fiber& f, waiter& me) noexcept {
  fiber& joined = join_access::of(joined_);
  must_be_of_kind(f, is_parallel, reason);
  if constexpr (is_parallel)
    return observe_end(joined, me);
  if (has_ended())
    return false;
  assert(joined.joiner == nullptr && "sennit: two fibers join one");
  joined.joiner = &f;
  f.word = reinterpret_cast<std::uintptr_t>(&joined);
  f.flags.status = fiber_status::joining;
  return true;
}

template <class Handle>
bool join_wait<Handle>::leave(waiter& me) noexcept {
  if constexpr (is_parallel)
    return observe_end_no_more(join_access::of(joined_), me);
  return true;  // stop_waiting() has done that
}

template <class Handle>
bool join_wait<Handle>::has_ended() const noexcept {
  const fiber& joined = join_access::of(joined_);
  if constexpr (is_parallel)
    return joined.ended.load(std::memory_order_acquire) == ended_already;
  return joined.flags.status == fiber_status::finished;
}

template class join_wait<sennit::fiber>;
template class join_wait<sennit::local::fiber>;

}  // namespace sennit::inline v0_1::detail
