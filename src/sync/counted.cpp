// Objects whose state is a number: semaphores, wait groups, events, what is done once.
#include <cassert>

#include "sennit/biased.hpp"
#include "sennit/detail/sched/misuse.hpp"
#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_counting_semaphore.hpp"
#include "sennit/detail/sync/basic_event.hpp"
#include "sennit/detail/sync/basic_once_flag.hpp"
#include "sennit/detail/sync/basic_wait_group.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::detail {

template <class Policy>
bool basic_counting_semaphore<Policy>::try_acquire() noexcept {
  const state now = queue_.peek();
  if (now != 0 && queue_.change_quickly(now, now - 1, std::memory_order_acquire))
    return true;
  typename queue::guard hold(queue_);
  if (hold.get() == 0)
    return false;
  hold.set(hold.get() - 1);
  return true;
}

template <class Policy>
bool basic_counting_semaphore<Policy>::try_acquire_until(std::chrono::steady_clock::time_point deadline) {
  const state now = queue_.peek();
  if (now != 0 && queue_.change_quickly(now, now - 1, std::memory_order_acquire))
    return true;
  return queue_.wait(until_acquired::reason, deadline, until_acquired());
}

template <class Policy>
void basic_counting_semaphore<Policy>::release(std::size_t permits) {
  const state now = queue_.peek();
  assert(permits <= max() - now && "sennit: more permits than a semaphore can count");
  if (queue_.change_quickly(now, now + permits, std::memory_order_release))
    return;
  if (permits == 1) {
    fiber* who = nullptr;
    {
      typename queue::guard hold(queue_);
      if (!hold.pop(0, who))
        hold.set(hold.get() + 1);
    }
    queue::make_ready(who);
    return;
  }
  // All are taken before the first is woken: a fiber that has its permit may destroy the semaphore.
  fiber_chain woken;
  {
    typename queue::guard hold(queue_);
    for (fiber* who = nullptr; permits != 0 && hold.pop(0, who); --permits)
      if (who != nullptr)
        woken(who);
    hold.set(hold.get() + permits);
  }
  queue::make_all_ready(woken);
}

template <class Policy>
bool basic_event<Policy>::wait_until(std::chrono::steady_clock::time_point deadline) {
  return is_set() || queue_.wait(until_set::reason, deadline, until_set());
}

template <class Policy>
void basic_wait_group<Policy>::add(std::size_t count) noexcept {
  const state now = queue_.peek();
  if (queue_.change(now, now + count, std::memory_order_relaxed))
    return;
  typename queue::guard hold(queue_);
  hold.set(hold.get() + count);
}

template <class Policy>
void basic_wait_group<Policy>::done(std::size_t count) noexcept {
  const state now = queue_.peek();
  assert(now >= count && "sennit: more is done than was to do");
  if (queue_.change(now, now - count, std::memory_order_acq_rel))
    return;
  queue_.wake_all_if([count](state& left) {
    left -= count;
    return left == 0;
  });
}

template <class Policy>
void basic_wait_group<Policy>::arrive_and_wait(std::size_t count) {
  if constexpr (!Policy::is_shared) {
    done(count);
    return wait();
  }
  bool last = false;
  queue_.wait(until_done::reason, never, [&last, count](state& left) {
    last = left <= count;
    if (!last)
      left -= count;
    return last;
  });
  if (last)
    done(count);
}

template <class Policy>
bool basic_wait_group<Policy>::wait_until(std::chrono::steady_clock::time_point deadline) {
  return try_wait() || queue_.wait(until_done::reason, deadline, until_done());
}

template <class Policy>
bool basic_once_flag<Policy>::begin() {
  const state begun = begun_by(caller());
  if (queue_.change(undone, begun, std::memory_order_acquire))
    return true;
  state seen = undone;
  state ended = undone;  // written by end() before it wakes this waiter
  do {
    queue_.wait("call_once", never, [&seen, &ended, begun](typename queue::guard& hold, waiter& me) {
      seen = hold.get();
      if (seen == undone)
        hold.set(begun);
      me.word = reinterpret_cast<std::uintptr_t>(&ended);
      return seen % 2 == 0 || seen == begun;
    });
    if (seen == begun)
      fatal_misuse(
          "calls call_once() in the function that a call_once() with the same flag runs, and would wait for "
          "itself: let that function return first, or use a flag for each function");
  } while (seen % 2 != 0 && ended == undone);
  return seen == undone;
}

template <class Policy>
void basic_once_flag<Policy>::end(bool successful) noexcept {
  fiber_chain woken;
  {
    typename queue::guard hold(queue_);
    hold.set(successful ? done : undone);
    while (!hold.empty()) {
      state& ended = *reinterpret_cast<state*>(hold.first_word());
      fiber* who = nullptr;
      if (hold.pop_first(0, who))
        ended = hold.get();
      if (who != nullptr)
        woken(who);
    }
  }
  queue::make_all_ready(woken);
}

template class basic_counting_semaphore<any_thread>;
template class basic_counting_semaphore<any_thread_biased>;
template class basic_counting_semaphore<one_thread>;
template class basic_event<any_thread>;
template class basic_event<one_thread>;
template class basic_wait_group<any_thread>;
template class basic_wait_group<one_thread>;
template class basic_once_flag<any_thread>;
template class basic_once_flag<one_thread>;

}  // namespace sennit::inline v0_1::detail
