// The shared mutex when it is not to be had at once. It is handed over under the queue's lock, to the first
// who wait: so it is never free while somebody waits.
#include "sennit/shared_mutex.hpp"

namespace sennit {

using detail::wait_queue;

bool shared_mutex::try_lock_slow(state wanted) noexcept {
  wait_queue::guard hold(queue_);
  const bool free = hold.empty() && admits(hold.get(), wanted);
  if (free)
    hold.set(hold.get() + wanted);
  return free;
}

bool shared_mutex::lock_slow(state wanted, detail::time_point deadline) {
  // Who leaves without the lock may have kept others out who could have it.
  struct leaving {
    shared_mutex& of;
    bool locked = false;
    ~leaving() {
      if (!locked) {
        wait_queue::guard hold(of.queue_);
        of.let_in(hold);
      }
    }
  } at_end{*this};
  at_end.locked = queue_.wait(wanted == exclusive ? "shared mutex, to write" : "shared mutex, to read",
                              deadline, [wanted](wait_queue::guard& hold, detail::waiter& me) {
                                me.word = wanted;
                                if (!hold.empty() || !admits(hold.get(), wanted))
                                  return false;
                                hold.set(hold.get() + wanted);
                                return true;
                              });
  return at_end.locked;
}

void shared_mutex::unlock_slow(state held) {
  wait_queue::guard hold(queue_);
  assert((held == exclusive ? hold.get() == exclusive : hold.get() >= one_reader) &&
         "sennit: unlock of a shared mutex that is not locked so");
  hold.set(hold.get() - held);
  let_in(hold);
}

// Hands over to the first who wait, as many as may have it now, and lets the queue go.
void shared_mutex::let_in(wait_queue::guard& hold) noexcept {
  detail::fiber_chain woken;
  while (!hold.empty()) {
    const state wanted = hold.first_word();
    if (!admits(hold.get(), wanted))
      break;
    detail::fiber* who = nullptr;
    if (hold.pop_first(0, who))
      hold.set(hold.get() + wanted);
    if (who != nullptr)
      woken(who);
  }
  hold.unlock();
  detail::deliver_all(woken);
}

}  // namespace sennit
