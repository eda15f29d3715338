// A waiter that may destroy the object that it waited for, and its own frame, as soon as its wait has ended.
// The waker takes it out of the object's list, under the object's lock. The waiter gives up by itself, as an
// OS thread whose deadline has passed.
//
// header: include/sennit/detail/sched/served_claim.hpp
// replace: std::exchange(taken, this) by: weak::exchanged(taken, this)
// replace: std::exchange(taken, nullptr) by: weak::exchanged(taken, {})
// scene a deadline:
// scene leaves at once: -DAT_ONCE  races
// scene looks back: -DLOOKS_BACK  races
#include "weak.hpp"

#include <new>

#include "sennit/detail/sched/served_claim.hpp"
#include "sennit/detail/sync/low_lock_waiters.hpp"

using sennit::detail::claim_result;
using sennit::detail::claim_state;
using served_claim = sennit::detail::basic_served_claim<weak::memory>;

struct object {
  sennit::detail::basic_low_lock_waiters<weak::memory> word;
  served_claim* waits = nullptr;  // under the lock
};
constinit object shared;
constinit served_claim frame;
served_claim* taken = nullptr;  // the waker's list

// Destroys it: these writes race with all accesses that do not happen before. (GenMC 0.11 crashes where
// memory with atomics is freed.)
template <class T>
void end(T& of) {
  new (&of) T;
}

bool is_served() {
#if defined(AT_ONCE)
  return sennit::detail::is_taken(frame.state());
#else
  return frame.was_served();
#endif
}

void wait() {
  shared.word.lock();
  shared.waits = &frame;
  shared.word.unlock(0, true);
  frame.take(claim_state::timed_out);
  if (is_served()) {
    end(shared);
  } else {
    shared.word.lock();
    shared.waits = nullptr;
    shared.word.unlock(0, true);
  }
  end(frame);
}

void give() {
  shared.word.lock();
  if (shared.waits != nullptr) {
    shared.waits->serve(sennit::detail::taken_at(0), taken);
    shared.waits = nullptr;
  }
  shared.word.unlock(0, true);
#if defined(LOOKS_BACK)
  served_claim* const last = taken;
#endif
  served_claim::release(taken, [](auto&) {});
#if defined(LOOKS_BACK)
  if (last != nullptr)
    static_cast<void>(last->state());
#endif
}

int main() {
  weak::run(wait, give);
}
