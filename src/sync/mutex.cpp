// The mutex when it is not free.
#include "sennit/mutex.hpp"

namespace sennit {

bool mutex::try_lock_slow() noexcept {
  {
    detail::wait_queue::guard hold(queue_);
    detail::wait_queue::state now = hold.get();
    if (!take(now))
      return false;
    hold.set(now);
  }
  note_owner();
  return true;
}

// (One that is free is not waited for: that could be told to leave.)
bool mutex::lock_slow(detail::time_point deadline) {
  if ((queue_.peek() & locked) == 0 && try_lock_slow())
    return true;
  const detail::wait_reason why(until_locked::reason,
                                reinterpret_cast<std::uintptr_t>(&owner_) + detail::has_owner);
  for (bool taken = false;;) {
    const bool woken =
        queue_.wait(why, deadline, [&taken](detail::wait_queue::state& now) { return taken = take(now); });
    // If it is fair, it was handed to us.
    if (taken || (woken && options_.fairness == fairness::fair)) {
      note_owner();
      return true;
    }
    if (!woken)
      return false;
  }
}

void mutex::lock_again_slow() {
  detail::wait_in_any_case([this] { lock_slow(detail::never); });
}

void mutex::unlock_slow(wake_policy wake) {
  const wait_options how = options_;  // once the queue is let go, the mutex may be destroyed
  detail::fiber* who = nullptr;
  {
    detail::wait_queue::guard hold(queue_);
    assert((hold.get() & locked) != 0 && "sennit: unlock of a mutex that is not locked");
    if ((hold.get() & noting) != 0)
      owner_.id = 0;
    const bool waited = hold.pop(0, who, how.order == wait_order::recent);
    if (!waited || how.fairness != fairness::fair)
      hold.set(hold.get() & ~locked);
    else
      detail::count_recognition(who);  // it has the mutex
  }
  if (wake == wake_policy::enter)
    detail::deliver_and_enter(who);
  else
    detail::deliver(who);
}

}  // namespace sennit
