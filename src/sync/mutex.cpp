// The mutex when it is not free.
#include "sennit/mutex.hpp"

namespace sennit {

bool mutex::try_lock_slow() noexcept {
  detail::wait_queue::guard hold(queue_);
  if (hold.get() != unlocked)
    return false;
  hold.set(locked);
  return true;
}

bool mutex::lock_slow(detail::time_point deadline) {
  for (;;) {
    until_locked wanted(*this);
    const bool woken = queue_.wait(until_locked::reason, deadline,
                                   [&wanted](detail::wait_queue::state& now) { return wanted(now); });
    if (wanted.taken || !woken)
      return wanted.taken;
    if (options_.fairness == fairness::fair)
      return true;  // it was handed to us
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
    assert(hold.get() == locked && "sennit: unlock of a mutex that is not locked");
    const bool waited = hold.pop(0, who, how.order == wait_order::recent);
    if (!waited || how.fairness != fairness::fair)
      hold.set(unlocked);
    else
      detail::count_recognition(who);  // it has the mutex
  }
  if (wake == wake_policy::enter)
    detail::deliver_and_enter(who);
  else
    detail::deliver(who);
}

}  // namespace sennit
