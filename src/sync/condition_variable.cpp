// The slow paths of condition variables.
#include "sennit/condition_variable.hpp"

#include "sennit/local/condition_variable.hpp"

namespace sennit::inline v0_1::detail {

template <class Mutex>
void basic_condition_variable<Mutex>::wake_one() {
  const lock_options how = queue_.waiters().options;
  fiber* who = nullptr;
  typename queue::guard(queue_).pop(0, who, how.newest());
  if (how.enter())
    policy::make_ready_and_enter(who);
  else
    policy::make_ready(who);
}

template <class Mutex>
bool basic_condition_variable<Mutex>::notified::file(fiber& f, waiter& me) noexcept {
  Mutex* const held = lock_.release();  // once we are in the queue, this may be gone
  auto always = [](state&) { return false; };
  queue_->file(f, me, always, reason);
  held->unlock_behind();
  return true;
}

template class basic_condition_variable<sennit::mutex>;
template class basic_condition_variable<local::mutex>;

}  // namespace sennit::inline v0_1::detail
