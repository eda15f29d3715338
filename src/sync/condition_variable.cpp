// The condition variable's waking.
#include "sennit/condition_variable.hpp"

namespace sennit {

void condition_variable::wake_one() {
  const wait_options how = options_;
  detail::fiber* who = nullptr;
  detail::wait_queue::guard(queue_).pop(0, who, how.order == wait_order::recent);
  if (how.wake == wake_policy::enter)
    detail::deliver_and_enter(who);
  else
    detail::deliver(who);
}

bool condition_variable::notified::file(detail::fiber& f, detail::waiter& me) noexcept {
  mutex* const held = lock_.release();  // once we are in the queue, this may be gone
  auto always = [](detail::wait_queue::state&) { return false; };
  queue_->file(f, me, always, reason);
  held->unlock_behind();
  return true;
}

}  // namespace sennit
