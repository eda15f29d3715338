// sennit::mutex: mutual exclusion between fibers, on any worker of any parallel runtime, and OS threads.
// room: sync
//
//   sennit::mutex mutex;
//   std::lock_guard hold(mutex);  // blocks the fiber, not its worker
//
// Source: Dolan 2013, section 5.1 (mutexes).
#pragma once

#include <cassert>
#include <chrono>

#include "sennit/detail/sync/queue_wait.hpp"
#include "sennit/detail/sync/wait_queue.hpp"
#include "sennit/wait_options.hpp"

namespace sennit {

// Meets the std TimedLockable requirements. Not recursive; who unlocks need not be who locked. One that is
// free is locked and unlocked by one compare-and-swap each. Unlocking one that is not locked is a misuse
// (asserted), and so is destroying one that is locked. (A fiber of a local runtime blocks its thread.)
class mutex {
public:
  constexpr mutex() noexcept = default;
  explicit constexpr mutex(const wait_options& options) noexcept : options_(options) {}
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  ~mutex() { assert(queue_.peek() == unlocked && "sennit: a locked mutex was destroyed"); }

  [[gnu::always_inline]] void lock() {
    if (!queue_.change(unlocked, locked, std::memory_order_acquire)) [[unlikely]]
      lock_slow(detail::never);
  }
  [[gnu::always_inline]] bool try_lock() noexcept {
    return queue_.change(unlocked, locked, std::memory_order_acquire) || try_lock_slow();
  }
  // False: the deadline (steady clock) passed first.
  bool try_lock_until(std::chrono::steady_clock::time_point deadline) {
    return try_lock() || lock_slow(deadline);
  }
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> time) {
    return try_lock_until(std::chrono::steady_clock::now() + time);
  }

  // lock() without a stack: for become(). It goes on with the mutex locked. (If another came first when it
  // was woken, it waits once more, without a stack again.)
  auto locking() noexcept {
    return detail::queue_wait<detail::wait_queue, until_locked>(queue_, until_locked(*this));
  }
  // try_lock_until() without a stack; the function gets its result.
  auto locking_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return detail::timed_wait(locking(), deadline);
  }

  [[gnu::always_inline]] void unlock() {
    if (!queue_.change(locked, unlocked, std::memory_order_release)) [[unlikely]]
      unlock_slow(options_.wake);
  }

private:
  friend class condition_variable;
  static constexpr detail::wait_queue::state unlocked = 0;
  static constexpr detail::wait_queue::state locked = 1;
  struct until_locked : detail::queue_rule {
    static constexpr const char* reason = "mutex";
    explicit until_locked(mutex& wanted) noexcept : of(&wanted) {}
    mutex* of;
    bool taken = false;
    bool operator()(detail::wait_queue::state& now) noexcept {
      if (now != unlocked)
        return false;
      now = locked;
      return taken = true;
    }
    bool is_over() noexcept {
      return taken = taken || of->options_.fairness == fairness::fair || of->try_lock();
    }
    bool end(detail::time_point deadline) { return is_over() || (taken = of->try_lock_until(deadline)); }
    void settle(detail::time_point deadline) { end(deadline); }
  };

  // Out of line: a switch that is inlined into a loop that locks takes all registers from it, though it is
  // hardly ever made.
  bool lock_slow(detail::time_point deadline);
  // For a condition variable's waiter: it has the mutex again, and is told to leave at its next wait.
  [[gnu::always_inline]] void lock_again() {
    if (!queue_.change(unlocked, locked, std::memory_order_acquire)) [[unlikely]]
      lock_again_slow();
  }
  void lock_again_slow();
  bool try_lock_slow() noexcept;
  void unlock_slow(wake_policy wake);
  // For a fiber that has left its stack.
  void unlock_behind() {
    if (!queue_.change(locked, unlocked, std::memory_order_release))
      unlock_slow(wake_policy::queue);
  }

  detail::wait_queue queue_;
  wait_options options_;
};

}  // namespace sennit
