// The slow paths of the local mutex and of its condition variable.
#include "sennit/local/mutex.hpp"

#include "sennit/detail/sched/misuse.hpp"
#include "sennit/detail/sched/stop.hpp"
#include "sennit/local/condition_variable.hpp"

namespace sennit::local {

namespace {

// Takes the waiter that has waited longest, or that came last.
detail::fiber& pop(detail::waiter_list& list, wait_order order) noexcept {
  if (order == wait_order::fifo)
    return detail::list_pop_fiber(list);
  auto& newest = static_cast<detail::waiter&>(*list.previous);
  newest.leave_list();
  return static_cast<detail::fiber&>(newest);
}

// Throws nothing, although a yield may throw while the runtime ends or where it gives up the stack:
// destructors unlock mutexes.
void wake(detail::fiber& who, wake_policy how) {
  detail::unpark(who, 0);
  const detail::worker& w = *who.home;
  if (how == wake_policy::enter && w.ready.running() && !w.unwinding &&
      (w.ready.current->flags.unusual & detail::yields_away) == 0)
    detail::yield();
}

}  // namespace

void mutex::lock_slow() {
  if (!try_lock_slow())
    wait_until(detail::never);
}

bool mutex::try_lock_slow() noexcept {
  using detail::owner_note;
  if (state_ == state::locked || state_ == state::wanted)
    return false;
  if (state_ == state::fresh && owner_note::wanted.load(std::memory_order_relaxed) != 0)
    owner_.id = owner_note::nobody;
  state_ = takes_notes() || !waiters_.empty() ? state::wanted : state::locked;
  if (takes_notes())
    owner_.take();
  return true;
}

bool mutex::until_locked::file(detail::fiber& f, detail::waiter& me) noexcept {
  detail::must_be_of_kind(f, false, reason);
  taken = of->try_lock();
  if (taken)
    return false;
  f.flags.status = detail::fiber_status::waiting;
  detail::list_push_back(of->waiters_, me);
  of->state_ = state::wanted;
  return true;
}

bool mutex::until_locked::is_over() noexcept {
  taken = taken || of->is_fair() || of->try_lock();
  if (taken && of->takes_notes())
    of->owner_.take();
  return taken;
}

void mutex::wait_again() {
  detail::wait_in_any_case([this] { lock(); });
}

bool mutex::wait_until(detail::time_point deadline) {
  detail::worker& w = detail::running_worker_for("a wait for a mutex");
  if (deadline == detail::never && owner_.blocks_caller())
    detail::fatal_misuse(detail::locks_twice);
  const detail::wait_reason why(until_locked::reason,
                                reinterpret_cast<std::uintptr_t>(&owner_) + detail::has_owner);
  for (;;) {
    detail::list_push_back(waiters_, *w.ready.current);
    state_ = state::wanted;
    if (!detail::park_until(w, detail::fiber_status::waiting, why, deadline))
      return false;
    if (is_fair() || try_lock())
      return true;  // fair: it was handed to us
  }
}

void mutex::unlock_slow() {
  assert(state_ == state::wanted && "sennit: unlock of a mutex that is not locked");
  detail::fiber* const next = waiters_.empty() ? nullptr : &pop(waiters_, options_.order);
  const wake_policy how = options_.wake;  // once another has it, the mutex may be destroyed
  if (next != nullptr && is_fair()) {
    detail::count_recognition(next);  // it has the mutex
    if (takes_notes())
      owner_.id = static_cast<std::uint32_t>(detail::fiber_id(*next));
  } else {
    if (takes_notes())
      owner_.id = detail::owner_note::nobody;
    state_ = takes_notes() || !waiters_.empty() ? state::open : state::free;
  }
  if (next != nullptr)
    wake(*next, how);
}

void condition_variable::wake_by_options() {
  wake(pop(waiters_, options_.order), options_.wake);
}

}  // namespace sennit::local
