// Condition variables: a queue whose waiters let a mutex go when they are in it.
#include "sennit/condition_variable.hpp"

#include <cassert>

namespace sennit {

namespace {

struct relock {
  mutex& held;
  ~relock() noexcept(false) { held.lock(); }
};

}  // namespace

std::cv_status condition_variable::wait_until(std::unique_lock<mutex>& lock,
                                              std::chrono::steady_clock::time_point deadline) {
  assert(lock.owns_lock() && "sennit: waiting without the lock");
  mutex* const held = lock.mutex();
  const relock again{*held};
  const auto always = [](detail::wait_queue::state&) { return false; };
  return queue_.wait("condition variable", deadline, always, [held] { held->unlock_behind(); })
             ? std::cv_status::no_timeout
             : std::cv_status::timeout;
}

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
