// The slow paths of the shared mutex. It is handed over under the queue's lock, to the first waiters, so it
// is never free while there are waiters.
#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_shared_mutex.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::detail {

template <class Policy>
bool basic_shared_mutex<Policy>::try_lock_slow(state wanted) noexcept {
  guard hold(queue_);
  const bool free = hold.empty() && admits(hold.get(), wanted);
  if (free)
    hold.set(hold.get() + wanted);
  return free;
}

template <class Policy>
bool basic_shared_mutex<Policy>::lock_slow(state wanted, time_point deadline) {
  struct leaving {
    basic_shared_mutex& of;
    bool locked = false;
    ~leaving() {
      if (!locked)
        of.gave_up();
    }
  } at_end{*this};
  at_end.locked = queue_.wait(reason_of(wanted), deadline,
                              [wanted](guard& hold, waiter& me) { return enters(hold, me, wanted); });
  return at_end.locked;
}

// A waiter that leaves may have blocked others, which can now lock the mutex.
template <class Policy>
void basic_shared_mutex<Policy>::gave_up() noexcept {
  guard hold(queue_);
  let_in(hold);
}

template <class Policy>
void basic_shared_mutex<Policy>::unlock_slow(state held) {
  guard hold(queue_);
  assert((held == exclusive ? hold.get() == exclusive : hold.get() >= one_reader) &&
         "sennit: unlock of a shared mutex that is not locked so");
  hold.set(hold.get() - held);
  let_in(hold);
}

// Hands the mutex to as many of the first waiters as may hold it now, and releases the queue.
template <class Policy>
void basic_shared_mutex<Policy>::let_in(guard& hold) noexcept {
  fiber_chain woken;
  while (!hold.empty()) {
    const state wanted = hold.first_word();
    if (!admits(hold.get(), wanted))
      break;
    fiber* who = nullptr;
    if (hold.pop_first(0, who))
      hold.set(hold.get() + wanted);
    if (who != nullptr)
      woken(who);
  }
  hold.unlock();
  queue::make_all_ready(woken);
}

template class basic_shared_mutex<any_thread>;
template class basic_shared_mutex<one_thread>;

}  // namespace sennit::inline v0_1::detail
