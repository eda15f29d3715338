// Futures: what does not depend on their type.
#include "sennit/detail/sync/future_state.hpp"

#include <future>

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/one_thread.hpp"
#include "sennit/stop_guard.hpp"

namespace sennit::inline v0_1::detail {

template <class Policy>
bool future_state_base<Policy>::wait_until(time_point deadline) {
  return is_ready() || queue_.wait("future", deadline, need_not_wait);
}

template <class Policy>
bool future_state_base<Policy>::file(fiber& f, waiter& me) noexcept {
  return queue_.file(f, me, need_not_wait, "future");
}

template <class Policy>
bool future_state_base<Policy>::await(std::coroutine_handle<> who) noexcept {
  typename queue::guard hold(queue_);
  if ((hold.get() & ready) != 0)
    return false;
  awaiting_ = who;
  return true;
}

template <class Policy>
void future_state_base<Policy>::retrieve() {
  typename queue::guard hold(queue_);
  if ((hold.get() & retrieved) != 0)
    throw std::future_error(std::future_errc::future_already_retrieved);
  hold.set(hold.get() | retrieved);
}

template <class Policy>
bool future_state_base<Policy>::begin() noexcept {
  if ((queue_.peek() & begun) != 0)
    return false;
  typename queue::guard hold(queue_);
  const bool first = (hold.get() & begun) == 0;
  hold.set(hold.get() | begun);
  return first;
}

template <class Policy>
void future_state_base<Policy>::give_up() noexcept {
  typename queue::guard hold(queue_);
  hold.set(hold.get() & ~begun);
}

template <class Policy>
std::coroutine_handle<> future_state_base<Policy>::publish() noexcept {
  std::coroutine_handle<> awaiting;
  queue_.wake_all_if([&](state& now) {
    now |= ready;
    awaiting = awaiting_;
    return true;
  });
  return awaiting;
}

template class future_state_base<any_thread>;
template class future_state_base<one_thread>;

void throw_no_state() {
  throw std::future_error(std::future_errc::no_state);
}
void throw_broken_promise() {
  throw std::future_error(std::future_errc::broken_promise);
}
void throw_already_satisfied() {
  throw std::future_error(std::future_errc::promise_already_satisfied);
}

std::exception_ptr coroutine_error() {
  try {
    throw;
  } catch (const cancelled&) {
    return std::current_exception();
  } catch (const forced_unwind&) {
    const worker* w = this_worker();
    if (w == nullptr || !w->ready.running() || !w->unwinding)
      throw;  // of a generator that is destroyed early, in the middle of the coroutine
    w->ready.current->flags.shutdown = shutdown_state::pending;
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace sennit::inline v0_1::detail
