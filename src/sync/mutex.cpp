// The slow paths of mutexes.
#include "sennit/detail/sync/basic_mutex.hpp"

#include "sennit/detail/sched/misuse.hpp"
#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::detail {

template <class Policy>
bool basic_mutex<Policy>::try_lock_slow() noexcept {
  {
    typename queue::guard hold(queue_);
    typename queue::state now = hold.get();
    if (!word::take(now))
      return false;
    hold.set(now);
  }
  note_owner();
  return true;
}

// (A free mutex is locked without a wait, because a wait could throw.)
template <class Policy>
bool basic_mutex<Policy>::lock_slow(time_point deadline) {
  if ((queue_.peek() & word::locked) == 0 && try_lock_slow())
    return true;
  if (deadline == never && queue_.waiters().owner.blocks_caller())
    fatal_misuse(locks_twice);
  // Only a fiber that has to wait: to lock a mutex that is free is never a switch. Not with a deadline: a
  // busy worker may begin the fiber late.
  if constexpr (Policy::is_shared)
    if (deadline == never)
      if (const auto to = queue_.waiters().first_move(); to != 0) [[unlikely]]
        parallel_move_to(to);
  const wait_reason why(until_locked::reason, reinterpret_cast<std::uintptr_t>(this) + has_owner);
  if (!word::wait_until_taken(options().fair(),
                              [&](auto decide) { return queue_.wait(why, deadline, decide); }))
    return false;
  note_owner();
  return true;
}

template <class Policy>
void basic_mutex<Policy>::lock_again_slow() {
  wait_uninterruptible([this] { lock_slow(never); });
}

template <class Policy>
void basic_mutex<Policy>::unlock_slow(bool enter) {
  const lock_options how = options();  // once the queue is let go, the mutex may be destroyed
  fiber* who = nullptr;
  {
    typename queue::guard hold(queue_);
    assert((hold.get() & word::locked) != 0 && "sennit: unlock of a mutex that is not locked");
    if ((hold.get() & word::noting) != 0)
      queue_.waiters().owner.id = 0;
    if (word::pass_on(hold, how.fair(), how.newest(), who))
      count_recognition(who);
  }
  if (enter)
    Policy::make_ready_and_enter(who);
  else
    Policy::make_ready(who);
}

template class basic_mutex<any_thread>;
template class basic_mutex<one_thread>;

}  // namespace sennit::inline v0_1::detail
