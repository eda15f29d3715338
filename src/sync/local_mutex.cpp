// The local mutex when it is not free.
#include "sennit/local/mutex.hpp"

#include <exception>

#include "sennit/stop_guard.hpp"

namespace sennit::local {

void mutex::wait() {
  wait_until(detail::never);
}

void mutex::wait_again() {
  const stop_shield in_any_case;
  try {
    wait();
  } catch (const detail::forced_unwind&) {  // once: the next wait is none that is told
    if (!try_lock())
      wait();
    if (std::uncaught_exceptions() == 0)  // else it cannot be thrown, by a destructor
      throw;
    detail::tell_again();
  }
}

bool mutex::wait_until(detail::time_point deadline) {
  detail::worker& w = detail::running_worker_for("a wait for a mutex");
  detail::list_push_back(waiters_, *w.ready.current);
  state_ = state::wanted;
  return detail::park_until(w, detail::fiber_status::waiting, "mutex", deadline);
}

void mutex::hand_over() noexcept {
  assert(state_ == state::wanted && "sennit: unlock of a mutex that is not locked");
  if (waiters_.empty())  // they gave up
    state_ = state::free;
  else
    detail::unpark(detail::list_pop_fiber(waiters_), 0);
}

}  // namespace sennit::local
