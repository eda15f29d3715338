// Futures: what does not depend on their type.
#include "sennit/future.hpp"

#include <future>

#include "sennit/stop_guard.hpp"

namespace sennit::detail {

bool future_state_base::wait_until(time_point deadline) {
  return is_ready() ||
         queue_.wait("future", deadline, [](wait_queue::state& now) { return (now & ready) != 0; });
}

bool future_state_base::await(std::coroutine_handle<> who) noexcept {
  wait_queue::guard hold(queue_);
  if ((hold.get() & ready) != 0)
    return false;
  awaiting_ = who;
  return true;
}

void future_state_base::retrieve() {
  wait_queue::guard hold(queue_);
  if ((hold.get() & retrieved) != 0)
    throw std::future_error(std::future_errc::future_already_retrieved);
  hold.set(hold.get() | retrieved);
}

bool future_state_base::begin() noexcept {
  if ((queue_.peek() & begun) != 0)
    return false;
  wait_queue::guard hold(queue_);
  const bool first = (hold.get() & begun) == 0;
  hold.set(hold.get() | begun);
  return first;
}

void future_state_base::give_up() noexcept {
  wait_queue::guard hold(queue_);
  hold.set(hold.get() & ~begun);
}

std::coroutine_handle<> future_state_base::publish() noexcept {
  std::coroutine_handle<> awaiting;
  queue_.wake_all_if([&](wait_queue::state& now) {
    now |= ready;
    awaiting = awaiting_;
    return true;
  });
  return awaiting;
}

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
    w->ready.current->flags.told = telling::due;
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace sennit::detail
