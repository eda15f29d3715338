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

#include "sennit/detail/cont/timed_wait.hpp"
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
  ~mutex() { assert(state_ == state::free && "sennit: a locked mutex was destroyed"); }

  [[gnu::always_inline]] void lock() {
    if (state_ != state::free) [[unlikely]]
      wait();
    else
      state_ = state::locked;
  }

  [[gnu::always_inline]] bool try_lock() noexcept {
    if (state_ != state::free)
      return false;
    state_ = state::locked;
    return true;
  }

  // False: the deadline (steady clock) passed first.
  bool try_lock_until(std::chrono::steady_clock::time_point deadline) {
    return try_lock() || wait_until(deadline);
  }
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> time) {
    return try_lock_until(std::chrono::steady_clock::now() + time);
  }

  // lock() without a stack: for become(). It goes on with the mutex locked.
  auto locking() noexcept { return until_locked(*this); }
  // try_lock_until() without a stack; the function gets its result.
  auto locking_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return detail::timed_wait(locking(), deadline);
  }

  [[gnu::always_inline]] void unlock() {
    if (state_ != state::locked) [[unlikely]]
      hand_over();
    else
      state_ = state::free;
  }

private:
  friend class condition_variable;
  enum class state : std::uint8_t { free, locked, wanted };  // wanted: locked, and somebody has waited for it

  struct until_locked : detail::continuation_wait {
    static constexpr const char* reason = "mutex";
    explicit until_locked(mutex& wanted) noexcept : of(&wanted) {}
    bool file(detail::fiber& f) noexcept { return file(f, f); }
    static bool withdraw(detail::fiber&) noexcept { return false; }
    static void end(detail::fiber&, std::uintptr_t, detail::fiber_status) noexcept {}
    // For timed_wait.
    bool file(detail::fiber& f, detail::waiter& me) noexcept;
    static bool leave(detail::waiter&) noexcept { return true; }  // stop_waiting() has done it
    static bool end_by(detail::time_point, bool in_time) noexcept { return in_time; }
    mutex* of;
  };

  // Return with the mutex handed to us; it stays locked in between. Out of line: a switch that is inlined
  // into a loop that locks takes all registers from it, though it is hardly ever made.
  void wait();
  // For a condition variable's waiter: it has the mutex again, and is told to leave at its next wait.
  [[gnu::always_inline]] void lock_again() {
    if (state_ != state::free) [[unlikely]]
      wait_again();
    else
      state_ = state::locked;
  }
  void wait_again();
  bool wait_until(detail::time_point deadline);
  void hand_over() noexcept;

  state state_ = state::free;
  detail::waiter_list waiters_;
};

}  // namespace sennit::local
