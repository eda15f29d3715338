// Objects whose state is a number: semaphores, wait groups, events, what is done once.
#include <cassert>

#include "sennit/detail/sched/misuse.hpp"
#include "sennit/detail/sync/basic_counting_semaphore.hpp"
#include "sennit/detail/sync/basic_event.hpp"
#include "sennit/detail/sync/basic_once_flag.hpp"
#include "sennit/detail/sync/basic_wait_group.hpp"
#include "sennit/detail/sync/local_wait_queue.hpp"
#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit::detail {

template <class Queue>
bool basic_counting_semaphore<Queue>::try_acquire() noexcept {
  for (state now = queue_.peek(); now != 0 && queue_.quiet(); now = queue_.peek())
    if (queue_.change(now, now - 1, std::memory_order_acquire))
      return true;
  typename Queue::guard hold(queue_);
  if (hold.get() == 0)
    return false;
  hold.set(hold.get() - 1);
  return true;
}

template <class Queue>
bool basic_counting_semaphore<Queue>::try_acquire_until(std::chrono::steady_clock::time_point deadline) {
  const state now = queue_.peek();
  if (now != 0 && queue_.change(now, now - 1, std::memory_order_acquire))
    return true;
  return queue_.wait(until_acquired::reason, deadline, until_acquired());
}

template <class Queue>
void basic_counting_semaphore<Queue>::release(std::size_t permits) {
  const state now = queue_.peek();
  assert(permits <= max() - now && "sennit: more permits than a semaphore can count");
  if (queue_.change(now, now + permits, std::memory_order_release))
    return;
  for (; permits != 0; --permits) {
    fiber* who = nullptr;
    {
      typename Queue::guard hold(queue_);
      if (!hold.pop(0, who)) {
        hold.set(hold.get() + permits);
        return;
      }
    }
    Queue::deliver(who);
  }
}

template <class Queue>
bool basic_event<Queue>::wait_until(std::chrono::steady_clock::time_point deadline) {
  return is_set() || queue_.wait(until_set::reason, deadline, until_set());
}

template <class Queue>
void basic_wait_group<Queue>::add(std::size_t count) noexcept {
  const state now = queue_.peek();
  if (queue_.change(now, now + count, std::memory_order_relaxed))
    return;
  typename Queue::guard hold(queue_);
  hold.set(hold.get() + count);
}

template <class Queue>
void basic_wait_group<Queue>::done(std::size_t count) noexcept {
  const state now = queue_.peek();
  assert(now >= count && "sennit: more is done than was to do");
  if (queue_.change(now, now - count, std::memory_order_acq_rel))
    return;
  queue_.wake_all_if([count](state& left) {
    left -= count;
    return left == 0;
  });
}

template <class Queue>
bool basic_wait_group<Queue>::wait_until(std::chrono::steady_clock::time_point deadline) {
  return try_wait() || queue_.wait(until_done::reason, deadline, until_done());
}

template <class Queue>
bool basic_once_flag<Queue>::begin() {
  const state begun = begun_by(caller());
  bool mine = queue_.change(undone, begun, std::memory_order_acquire);
  while (!mine && !is_done()) {
    if (queue_.peek() == begun)
      fatal_misuse(
          "calls call_once() in the function that a call_once() with the same flag runs, and would wait for "
          "itself: let that function return first, or use a flag for each function");
    queue_.wait("call_once", never, [&mine, begun](state& now) {
      if (now % 2 != 0)
        return false;
      if (now == undone) {
        now = begun;
        mine = true;
      }
      return true;
    });
  }
  return mine;
}

template class basic_counting_semaphore<wait_queue>;
template class basic_counting_semaphore<local_wait_queue>;
template class basic_event<wait_queue>;
template class basic_event<local_wait_queue>;
template class basic_wait_group<wait_queue>;
template class basic_wait_group<local_wait_queue>;
template class basic_once_flag<wait_queue>;
template class basic_once_flag<local_wait_queue>;

}  // namespace sennit::detail
