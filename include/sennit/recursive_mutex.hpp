// sennit::recursive_mutex: a mutex that its owner, a fiber or an OS thread, may lock again.
// room: sync
//
//   sennit::recursive_mutex mutex;
//   std::lock_guard hold(mutex);
//   std::lock_guard again(mutex);  // in a function that is also called without the lock
#pragma once

#include <atomic>
#include <cassert>
#include <chrono>
#include <cstddef>

#include "sennit/mutex.hpp"

namespace sennit {

// Meets the std TimedLockable requirements. The owner is the fiber, wherever it runs, not its worker's
// thread: other fibers of that thread wait. Outside of fibers it is the OS thread. It is free when it has
// been unlocked as often as locked, by its owner; for another to unlock it is a misuse (asserted), and so is
// destroying one that is locked. (A fiber of a local runtime blocks its thread.)
class recursive_mutex {
public:
  constexpr recursive_mutex() noexcept = default;
  explicit constexpr recursive_mutex(const wait_options& options) noexcept : mutex_(options) {}

  void lock() {
    if (!lock_again()) {
      mutex_.lock();
      own();
    }
  }
  bool try_lock() noexcept { return lock_again() || (mutex_.try_lock() && own()); }
  // False: the deadline (steady clock) passed first.
  bool try_lock_until(std::chrono::steady_clock::time_point deadline) {
    return lock_again() || (mutex_.try_lock_until(deadline) && own());
  }
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> time) {
    return try_lock_until(std::chrono::steady_clock::now() + time);
  }

  void unlock() {
    assert(is_mine() && "sennit: unlock of a recursive mutex by another than its owner");
    if (--depth_ == 0) {
      owner_.store(nullptr, std::memory_order_relaxed);
      mutex_.unlock();
    }
  }

private:
  // Only the caller itself can have written its own name, so that no order is needed to read it.
  bool is_mine() const noexcept { return owner_.load(std::memory_order_relaxed) == detail::caller(); }
  bool lock_again() noexcept {
    const bool mine = is_mine();
    if (mine)
      ++depth_;
    return mine;
  }
  bool own() noexcept {
    owner_.store(detail::caller(), std::memory_order_relaxed);
    depth_ = 1;
    return true;
  }

  mutex mutex_;
  std::atomic<const void*> owner_{nullptr};
  std::size_t depth_ = 0;  // the owner's
};

}  // namespace sennit
