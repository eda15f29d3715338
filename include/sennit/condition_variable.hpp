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

#include "sennit/detail/cont/become.hpp"
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
  [[gnu::always_inline]] void notify_one() {
    if (!queue_.quiet()) [[unlikely]]
      wake_one();
  }
  void notify_all() {
    if (!queue_.quiet())
      queue_.wake_all(0);
  }

  // Precondition: the caller holds the lock; it holds it again afterwards, also if an exception comes out.
  [[gnu::always_inline]] void wait(std::unique_lock<mutex>& lock) { wait_until(lock, detail::never); }
  template <class Predicate>
  [[gnu::always_inline]] void wait(std::unique_lock<mutex>& lock, Predicate done) {
    while (!done())
      wait(lock);
  }

  // Gives up at the deadline (steady clock).
  [[gnu::always_inline]] std::cv_status wait_until(std::unique_lock<mutex>& lock,
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
  template <class Rep, class Period, class... Predicate>
  auto wait_for(std::unique_lock<mutex>& lock, std::chrono::duration<Rep, Period> time, Predicate... done) {
    return wait_until(lock, std::chrono::steady_clock::now() + time, std::move(done)...);
  }

  // wait() without a stack: for become(), whose function gets the lock.
  auto waiting(std::unique_lock<mutex> lock) noexcept { return notified(*this, std::move(lock)); }

private:
  class notified : public detail::continuation_wait {
  public:
    static constexpr const char* reason = "condition variable";
    notified(condition_variable& of, std::unique_lock<mutex>&& lock) noexcept
        : queue_(&of.queue_), mutex_(lock.mutex()), lock_(std::move(lock)) {
      assert(lock_.owns_lock() && "sennit: waiting without the lock");
    }
    bool file(detail::fiber& f) noexcept;
    bool withdraw(detail::fiber& f) noexcept { return queue_->leave(f); }
    std::unique_lock<mutex> end(detail::fiber&, std::uintptr_t, detail::fiber_status) {
      mutex_->lock_again();
      return {*mutex_, std::adopt_lock};
    }

  private:
    detail::wait_queue* queue_;
    mutex* mutex_;
    std::unique_lock<mutex> lock_;  // until it waits
  };

  struct relock {
    mutex& held;
    [[gnu::always_inline]] ~relock() { held.lock_again(); }
  };

  void wake_one();

  detail::wait_queue queue_;
  wait_options options_;
};

}  // namespace sennit
