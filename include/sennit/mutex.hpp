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

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/deadline.hpp"
#include "sennit/detail/sync/mutex_word.hpp"
#include "sennit/detail/sync/queue_wait.hpp"
#include "sennit/detail/sync/wait_queue.hpp"
#include "sennit/wait_options.hpp"

namespace sennit {

// Meets the std TimedLockable requirements. Not recursive: to wait without a deadline for a mutex that the
// same fiber holds is misuse, which ends the program with a message where deadlocks are reported (in debug
// builds, unless they are turned off), even if another fiber would have unlocked it. Otherwise, any fiber or
// thread may unlock it.
//
// A mutex is barging by default: a fiber that unlocks it and locks it again, without a wait in between, can
// keep others out for as long as it goes on so. With `wait_options{.fairness = fairness::fair}`, and in
// sennit::local, the fiber that has waited longest gets it. A free one is locked and unlocked by one
// compare-and-swap each. Misuse, asserted: to unlock one that is not locked, to destroy one that is locked.
// (A fiber of a local runtime blocks its thread.) One that is first locked while a runtime reports deadlocks
// names its holder, there and in dumps, and is slower.
class mutex {
public:
  constexpr mutex() noexcept = default;
  explicit constexpr mutex(const wait_options& options) noexcept : options_(options) {}
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  ~mutex() { assert((queue_.peek() & word::locked) == 0 && "sennit: a locked mutex was destroyed"); }

  SENNIT_INLINE void lock() {
    if (!word::quick_lock(queue_)) [[unlikely]]
      lock_slow(detail::never);
  }
  SENNIT_INLINE bool try_lock() noexcept { return word::quick_lock(queue_) || try_lock_slow(); }
  // False: the deadline (steady clock) passed first.
  bool try_lock_until(std::chrono::steady_clock::time_point deadline) {
    return try_lock() || lock_slow(deadline);
  }
  // Takes a time of any clock.
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& time) {
    return detail::wait_by_clock(
        time, [this](std::chrono::steady_clock::time_point deadline) { return try_lock_until(deadline); });
  }
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> time) {
    return try_lock_until(detail::deadline_after(time));
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

  SENNIT_INLINE void unlock() {
    if (!word::quick_unlock(queue_)) [[unlikely]]
      unlock_slow(options_.wake);
  }

private:
  friend class condition_variable;
  using word = detail::mutex_word<detail::wait_queue>;
  struct until_locked : detail::queue_rule {
    static constexpr const char* reason = "mutex";
    explicit until_locked(mutex& wanted) noexcept : of(&wanted) {}
    SENNIT_PLACE_OF(mutex_at, until_locked, of)
    static constexpr std::size_t object_at() noexcept { return mutex_at() + detail::has_owner; }
    mutex* of;
    bool taken = false;
    bool operator()(detail::wait_queue::state& now) noexcept { return taken = word::take(now); }
    bool is_over() noexcept {
      taken = taken || of->options_.fairness == fairness::fair || of->try_lock();
      if (taken)
        of->note_owner();
      return taken;
    }
    bool end(detail::time_point deadline) { return is_over() || (taken = of->try_lock_until(deadline)); }
    void settle(detail::time_point deadline) { end(deadline); }
  };

  // By who has it.
  void note_owner() noexcept {
    if ((queue_.peek() & word::noting) != 0) [[unlikely]]
      owner_.take();
  }

  // Out of line: a switch that is inlined into a loop that locks takes all registers from it, though it is
  // hardly ever made.
  bool lock_slow(detail::time_point deadline);
  // For a condition variable's waiter: it has the mutex again, and is told to leave at its next wait.
  SENNIT_INLINE void lock_again() {
    if (!word::quick_lock(queue_)) [[unlikely]]
      lock_again_slow();
  }
  void lock_again_slow();
  bool try_lock_slow() noexcept;
  void unlock_slow(wake_policy wake);
  // For a fiber that has left its stack.
  void unlock_behind() {
    if (!word::quick_unlock(queue_))
      unlock_slow(wake_policy::queue);
  }

  detail::owner_note owner_;  // first: waits know it by the mutex's address
  wait_options options_;
  detail::wait_queue queue_{word::fresh};
};

}  // namespace sennit
