// Futures: what does not depend on their type.
#include "sennit/detail/sync/future_state.hpp"

#include <future>

#include "sennit/detail/sync/local_wait_queue.hpp"
#include "sennit/detail/sync/wait_queue.hpp"
#include "sennit/stop_guard.hpp"

namespace sennit::detail {

template <class Queue>
bool future_state_base<Queue>::wait_until(time_point deadline) {
  return is_ready() || queue_.wait("future", deadline, need_not_wait);
}

template <class Queue>
bool future_state_base<Queue>::file(fiber& f, waiter& me) noexcept {
  return queue_.file(f, me, need_not_wait, "future");
}

template <class Queue>
bool future_state_base<Queue>::await(std::coroutine_handle<> who) noexcept {
  typename Queue::guard hold(queue_);
  if ((hold.get() & ready) != 0)
    return false;
  awaiting_ = who;
  return true;
}

template <class Queue>
void future_state_base<Queue>::retrieve() {
  typename Queue::guard hold(queue_);
  if ((hold.get() & retrieved) != 0)
    throw std::future_error(std::future_errc::future_already_retrieved);
  hold.set(hold.get() | retrieved);
}

template <class Queue>
bool future_state_base<Queue>::begin() noexcept {
  if ((queue_.peek() & begun) != 0)
    return false;
  typename Queue::guard hold(queue_);
  const bool first = (hold.get() & begun) == 0;
  hold.set(hold.get() | begun);
  return first;
}

template <class Queue>
void future_state_base<Queue>::give_up() noexcept {
  typename Queue::guard hold(queue_);
  hold.set(hold.get() & ~begun);
}

template <class Queue>
std::coroutine_handle<> future_state_base<Queue>::publish() noexcept {
  std::coroutine_handle<> awaiting;
  queue_.wake_all_if([&](state& now) {
    now |= ready;
    awaiting = awaiting_;
    return true;
  });
  return awaiting;
}

template class future_state_base<wait_queue>;
template class future_state_base<local_wait_queue>;

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
