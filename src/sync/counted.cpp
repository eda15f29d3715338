// Objects whose state is a number: semaphores, wait groups, events, what is done once.
#include <cassert>

#include "sennit/counting_semaphore.hpp"
#include "sennit/event.hpp"
#include "sennit/once.hpp"
#include "sennit/wait_group.hpp"

namespace sennit {

using state = detail::wait_queue::state;

bool counting_semaphore::try_acquire() noexcept {
  for (state now = queue_.peek(); now != 0 && queue_.quiet(); now = queue_.peek())
    if (queue_.change(now, now - 1, std::memory_order_acquire))
      return true;
  detail::wait_queue::guard hold(queue_);
  if (hold.get() == 0)
    return false;
  hold.set(hold.get() - 1);
  return true;
}

bool counting_semaphore::try_acquire_until(std::chrono::steady_clock::time_point deadline) {
  const state now = queue_.peek();
  if (now != 0 && queue_.change(now, now - 1, std::memory_order_acquire))
    return true;
  return queue_.wait("semaphore", deadline, [](state& left) {
    if (left == 0)
      return false;
    --left;
    return true;
  });
}

void counting_semaphore::release(std::size_t permits) {
  const state now = queue_.peek();
  assert(permits <= max() - now && "sennit: more permits than a semaphore can count");
  if (queue_.change(now, now + permits, std::memory_order_release))
    return;
  for (; permits != 0; --permits) {
    detail::fiber* who = nullptr;
    {
      detail::wait_queue::guard hold(queue_);
      if (!hold.pop(0, who)) {
        hold.set(hold.get() + permits);
        return;
      }
    }
    detail::deliver(who);
  }
}

bool event::wait_until(std::chrono::steady_clock::time_point deadline) {
  return is_set() || queue_.wait("event", deadline, [](state& now) { return now == happened; });
}

void wait_group::add(std::size_t count) noexcept {
  const state now = queue_.peek();
  if (queue_.change(now, now + count, std::memory_order_relaxed))
    return;
  detail::wait_queue::guard hold(queue_);
  hold.set(hold.get() + count);
}

void wait_group::done(std::size_t count) noexcept {
  const state now = queue_.peek();
  assert(now >= count && "sennit: more is done than was to do");
  if (queue_.change(now, now - count, std::memory_order_acq_rel))
    return;
  queue_.wake_all_if([count](state& left) {
    left -= count;
    return left == 0;
  });
}

bool wait_group::wait_until(std::chrono::steady_clock::time_point deadline) {
  return try_wait() || queue_.wait("wait group", deadline, [](state& left) { return left == 0; });
}

bool once_flag::begin() {
  bool mine = false;
  while (!mine && !is_done())
    queue_.wait("call_once", detail::never, [&mine](state& now) {
      if (now == begun)
        return false;
      if (now == undone) {
        now = begun;
        mine = true;
      }
      return true;
    });
  return mine;
}

}  // namespace sennit
