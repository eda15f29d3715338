// The slow paths of the mutex.
#include "sennit/mutex.hpp"

#include "sennit/detail/sched/misuse.hpp"

namespace sennit {

bool mutex::try_lock_slow() noexcept {
  {
    detail::wait_queue::guard hold(queue_);
    detail::wait_queue::state now = hold.get();
    if (!word::take(now))
      return false;
    hold.set(now);
  }
  note_owner();
  return true;
}

// (A free mutex is locked without a wait, because a wait could throw.)
bool mutex::lock_slow(detail::time_point deadline) {
  if ((queue_.peek() & word::locked) == 0 && try_lock_slow())
    return true;
  if (deadline == detail::never && owner_.blocks_caller())
    detail::fatal_misuse(detail::locks_twice);
  const detail::wait_reason why(until_locked::reason,
                                reinterpret_cast<std::uintptr_t>(&owner_) + detail::has_owner);
  const bool fair = options_.fairness == fairness::fair;
  if (!word::wait_until_taken(fair, [&](auto decide) { return queue_.wait(why, deadline, decide); }))
    return false;
  note_owner();
  return true;
}

void mutex::lock_again_slow() {
  detail::wait_in_any_case([this] { lock_slow(detail::never); });
}

void mutex::unlock_slow(wake_policy wake) {
  const wait_options how = options_;  // once the queue is let go, the mutex may be destroyed
  detail::fiber* who = nullptr;
  {
    detail::wait_queue::guard hold(queue_);
    assert((hold.get() & word::locked) != 0 && "sennit: unlock of a mutex that is not locked");
    if ((hold.get() & word::noting) != 0)
      owner_.id = 0;
    if (word::pass_on(hold, how.fairness == fairness::fair, how.order == wait_order::recent, who))
      detail::count_recognition(who);
  }
  if (wake == wake_policy::enter)
    detail::deliver_and_enter(who);
  else
    detail::deliver(who);
}

}  // namespace sennit
