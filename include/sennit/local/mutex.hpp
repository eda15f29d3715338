// sennit::local::mutex: mutual exclusion between the fibers of one local runtime.
// room: sync
//
//   sennit::local::mutex mutex;
//   std::lock_guard hold(mutex);  // blocks the fiber, not the thread
//
// Source: Dolan 2013, section 5.1 (mutexes).
#pragma once

#include <cassert>
#include <chrono>
#include <cstdint>

#include "sennit/detail/sched/worker.hpp"

namespace sennit::local {

// Meets the std TimedLockable requirements. First come, first served: unlock hands the mutex to the fiber
// that has waited longest. Not recursive. It belongs to no runtime, but all its users must be fibers of one
// runtime at a time. Unlocking a mutex that is not locked is a misuse (asserted). Destroying one that
// somebody waits for is, too.
class mutex {
public:
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  ~mutex() { assert(!locked_ && "sennit: a locked mutex was destroyed"); }

  [[gnu::always_inline]] void lock() {
    if (locked_) [[unlikely]]
      wait(detail::never);
    locked_ = true;
  }

  [[gnu::always_inline]] bool try_lock() noexcept {
    if (locked_)
      return false;
    locked_ = true;
    return true;
  }

  // False: the deadline (steady clock) passed first.
  bool try_lock_until(std::chrono::steady_clock::time_point deadline) {
    if (locked_ && !wait(deadline))
      return false;
    locked_ = true;
    return true;
  }
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> time) {
    return try_lock_until(std::chrono::steady_clock::now() + time);
  }

  [[gnu::always_inline]] void unlock() {
    assert(locked_ && "sennit: unlock of a mutex that is not locked");
    if (waiters_.first != nullptr) [[unlikely]] {
      hand_over();
      return;
    }
    locked_ = false;
  }

private:
  // Returns with the mutex handed to us (it stays locked in between), or false.
  [[gnu::always_inline]] bool wait(detail::time_point deadline) {
    detail::worker& w = detail::running_worker();
    detail::list_push_back(waiters_, *w.ready.current);
    if (deadline == detail::never) {
      detail::park(w, "mutex");
      return true;
    }
    return detail::park_until(w, "mutex", deadline);
  }
  [[gnu::always_inline]] void hand_over() { detail::unpark(*detail::list_pop_front(waiters_), 0); }

  bool locked_ = false;
  detail::fiber_list waiters_;
};

}  // namespace sennit::local
