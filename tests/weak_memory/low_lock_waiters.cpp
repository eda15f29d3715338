// The word of a wait queue: its lock, and a mutex made of it. One thread at a time is inside, and every
// waiter is woken.
//
// header: include/sennit/detail/sync/low_lock_waiters.hpp
// survives: word_.store(to << state_shift, std::memory_order_release); -> relaxed
// scene the lock: -DLOCK
// scene a mutex: -DMUTEX
// scene forgets: -DMUTEX -DFORGETS  fails
#include "sennit/detail/sync/low_lock_waiters.hpp"

#include "mutex.hpp"

using waiters = sennit::detail::basic_low_lock_waiters<weak::memory>;
int inside = 0;

#if defined(LOCK)

constinit waiters shared;

// Changes the state by two, quickly or under the lock.
void use() {
  if (shared.change_quickly(1, 3, std::memory_order_acq_rel))
    return;
  const waiters::state now = shared.lock();
  ++inside;
  shared.unlock(now + 2, true);
}

int main() {
  weak::run(use, use, [] {
    const waiters::state now = shared.lock();
    ++inside;
    shared.unlock(now + 1, true);
  });
  assert(shared.peek(std::memory_order_relaxed) == 5);
  assert(inside >= 2);
}

#else

constinit mutex<waiters> shared;
constinit sleeper sleepers[2];

template <int Number>
void use() {
  shared.take(sleepers[Number]);
  ++inside;
  shared.give();
}

int main() {
  weak::run(use<0>, use<1>);
  assert(inside == 2);
}

#endif
