// sennit::condition_variable: fibers and OS threads wait for each other.
// room: sync
//
//   sennit::mutex mutex;
//   sennit::condition_variable changed;
//   std::unique_lock lock(mutex);
//   changed.wait(lock, [&] { return ready; });
//
// Source: Dolan 2013, sections 5.1 and 7.4 (the condvar benchmark).
#pragma once

#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/sched/deadline.hpp"
#include "sennit/detail/sync/wait_queue.hpp"
#include "sennit/mutex.hpp"

namespace sennit {

// As std::condition_variable. There are no spurious wake-ups, but another may come first: use a predicate.
class condition_variable {
public:
  constexpr condition_variable() noexcept = default;
  explicit constexpr condition_variable(const wait_options& options) noexcept : options_(options) {}
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;

  // Wakes one waiter, or all. With wake_policy::enter, notify_one gives way to it.
  SENNIT_INLINE void notify_one() {
    if (!queue_.quiet()) [[unlikely]]
      wake_one();
  }
  void notify_all() {
    if (!queue_.quiet())
      queue_.wake_all(0);
  }

  // Precondition: the caller holds the lock; it holds it again afterwards, also if an exception comes out.
  SENNIT_INLINE void wait(std::unique_lock<mutex>& lock) { wait_until(lock, detail::never); }
  template <class Predicate>
  SENNIT_INLINE void wait(std::unique_lock<mutex>& lock, Predicate done) {
    while (!done())
      wait(lock);
  }

  // Gives up at the deadline (steady clock).
  SENNIT_INLINE std::cv_status wait_until(std::unique_lock<mutex>& lock,
                                          std::chrono::steady_clock::time_point deadline) {
    assert(lock.owns_lock() && "sennit: waiting without the lock");
    mutex* const held = lock.mutex();
    const relock again{*held};
    const auto always = [](detail::wait_queue::state&) { return false; };
    return queue_.wait("condition variable", deadline, always, [held] { held->unlock_behind(); })
               ? std::cv_status::no_timeout
               : std::cv_status::timeout;
  }
  template <class Predicate>
  bool wait_until(std::unique_lock<mutex>& lock, std::chrono::steady_clock::time_point deadline,
                  Predicate done) {
    while (!done())
      if (wait_until(lock, deadline) == std::cv_status::timeout)
        return done();
    return true;
  }
  // Takes a time of any clock. Where that clock was set back meanwhile, the first returns no_timeout
  // without a notification.
  template <class Clock, class Duration>
  std::cv_status wait_until(std::unique_lock<mutex>& lock,
                            const std::chrono::time_point<Clock, Duration>& time) {
    const std::cv_status result = wait_until(lock, detail::deadline_after(detail::time_until(time)));
    return detail::time_until(time) > std::chrono::nanoseconds::zero() ? std::cv_status::no_timeout : result;
  }
  template <class Clock, class Duration, class Predicate>
  bool wait_until(std::unique_lock<mutex>& lock, const std::chrono::time_point<Clock, Duration>& time,
                  Predicate done) {
    while (!done())
      if (wait_until(lock, time) == std::cv_status::timeout)
        return done();
    return true;
  }
  template <class Rep, class Period, class... Predicate>
  auto wait_for(std::unique_lock<mutex>& lock, std::chrono::duration<Rep, Period> time, Predicate... done) {
    return wait_until(lock, detail::deadline_after(time), std::move(done)...);
  }

  // wait() without a stack: for become(), whose function gets the lock.
  auto waiting(std::unique_lock<mutex> lock) noexcept { return notified(*this, std::move(lock)); }
  // wait_until() without a stack; the function gets a std::pair of the lock, which is held whichever it was,
  // and that wait's result.
  auto waiting_until(std::unique_lock<mutex> lock, std::chrono::steady_clock::time_point deadline) noexcept {
    return detail::timed_wait(waiting(std::move(lock)), deadline);
  }

private:
  class notified : public detail::continuation_wait {
  public:
    static constexpr const char* reason = "condition variable";
    SENNIT_OBJECT_AT(notified, queue_)
    notified(condition_variable& of, std::unique_lock<mutex>&& lock) noexcept
        : queue_(&of.queue_), mutex_(lock.mutex()), lock_(std::move(lock)) {
      assert(lock_.owns_lock() && "sennit: waiting without the lock");
    }
    bool file(detail::fiber& f) noexcept { return file(f, f); }
    bool withdraw(detail::fiber& f) noexcept { return leave(f); }
    std::unique_lock<mutex> end(detail::fiber&, std::uintptr_t, detail::fiber_status) { return relocked(); }

    // For timed_wait.
    bool file(detail::fiber& f, detail::waiter& me) noexcept;
    bool leave(detail::waiter& me) noexcept { return queue_->leave(me); }
    auto end_by(detail::time_point, bool in_time) {
      return std::pair(relocked(), in_time ? std::cv_status::no_timeout : std::cv_status::timeout);
    }

  private:
    std::unique_lock<mutex> relocked() {
      mutex_->lock_again();
      return {*mutex_, std::adopt_lock};
    }

    detail::wait_queue* queue_;
    mutex* mutex_;
    std::unique_lock<mutex> lock_;  // until it waits
  };

  struct relock {
    mutex& held;
    SENNIT_INLINE ~relock() { held.lock_again(); }
  };

  void wake_one();

  detail::wait_queue queue_;
  wait_options options_;
};

}  // namespace sennit
