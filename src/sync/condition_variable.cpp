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

}  // namespace sennit
