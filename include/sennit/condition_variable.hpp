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

#include "sennit/detail/sync/basic_condition_variable.hpp"
#include "sennit/mutex.hpp"

namespace sennit::inline v0_1 {

/// Like `std::condition_variable`, for fibers and OS threads, with a sennit::mutex. A wait blocks only the
/// calling fiber. A fiber of a local runtime may use it, but blocks its thread. An owner may destroy the
/// object as soon as all waiters have been notified.
///
/// \code
///   condition_variable c, d(wait_options{...});       // other rules for waiters: wait_options.hpp
///   void c.notify_one(), c.notify_all();              // with or without the lock; do not wait
///   void c.wait(lock);                                // unlocks, waits, locks again
///   void c.wait(lock, predicate);                     // until the predicate is true
///   std::cv_status c.wait_until(lock, time);          // timeout: the time came first
///   bool c.wait_until(lock, time, predicate);         // the predicate's last value; false: the time came
///                                                     // first
///   std::cv_status c.wait_for(lock, duration);
///   bool c.wait_for(lock, duration, predicate);
///   c.waiting(lock), c.waiting_until(lock, deadline)  // for become()
/// \endcode
///
/// The lock is a `std::unique_lock<sennit::mutex>`, which the caller holds, and holds again after each wait,
/// also if an exception leaves it. A wait throws sennit::cancelled if a stop_guard ends it. There are no
/// spurious wake-ups, but another fiber may lock the mutex before the waiter does: use a predicate.
class condition_variable final : public detail::basic_condition_variable<mutex> {
public:
  using basic_condition_variable::basic_condition_variable;
};

}  // namespace sennit::inline v0_1
