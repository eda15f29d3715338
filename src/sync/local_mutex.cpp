// The local mutex when it is not free.
#include "sennit/local/mutex.hpp"

#include "sennit/detail/sched/stop.hpp"

namespace sennit::local {

void mutex::wait() {
  wait_until(detail::never);
}

bool mutex::until_locked::file(detail::fiber& f, detail::waiter& me) noexcept {
  detail::must_be_of_kind(f, false, reason);
  if (of->try_lock())
    return false;
  f.flags.status = detail::fiber_status::waiting;
  detail::list_push_back(of->waiters_, me);
  of->state_ = state::wanted;
  return true;
}

void mutex::wait_again() {
  detail::wait_in_any_case([this] {
    if (!try_lock())
      wait();
  });
}

bool mutex::wait_until(detail::time_point deadline) {
  detail::worker& w = detail::running_worker_for("a wait for a mutex");
  detail::list_push_back(waiters_, *w.ready.current);
  state_ = state::wanted;
  return detail::park_until(w, detail::fiber_status::waiting, "mutex", deadline);
}

void mutex::hand_over() noexcept {
  assert(state_ == state::wanted && "sennit: unlock of a mutex that is not locked");
  if (waiters_.empty()) {  // they gave up
    state_ = state::free;
    return;
  }
  detail::fiber& next = detail::list_pop_fiber(waiters_);
  detail::count_recognition(&next);  // it has the mutex
  detail::unpark(next, 0);
}

}  // namespace sennit::local
