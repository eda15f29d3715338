// sennit::condition_variable_any: a condition variable that waits with any lock.
// room: sync
//
//   sennit::shared_mutex mutex;
//   sennit::condition_variable_any changed;
//   std::shared_lock hold(mutex);
//   changed.wait(hold, [&] { return ready; });
#pragma once

#include "sennit/condition_variable.hpp"
#include "sennit/detail/sync/basic_condition_variable_any.hpp"
#include "sennit/mutex.hpp"

namespace sennit::inline v0_1 {

/// Like `std::condition_variable_any`: waits with any lock that has lock() and unlock(), for a duration,
/// until a time of any clock, or until a stop is requested of a `std::stop_token`. Prefer
/// condition_variable, which allocates nothing, if the lock is a `std::unique_lock<sennit::mutex>`.
///
/// \code
///   void c.notify_one(), c.notify_all();                // with or without the lock; do not wait
///   void c.wait(lock);                                  // unlocks, waits, locks again
///   void c.wait(lock, predicate);                       // until the predicate is true
///   std::cv_status c.wait_until(lock, time);            // timeout: the time came first
///   bool c.wait_until(lock, time, predicate);           // the predicate's last value; false: the time
///                                                       // came first
///   std::cv_status c.wait_for(lock, duration);
///   bool c.wait_for(lock, duration, predicate);
///   bool c.wait(lock, token, predicate);                // false: it gave up because of the stop
///   bool c.wait_until(lock, token, time, predicate);    // false: after a stop, or the predicate's last
///                                                       // value
///   bool c.wait_for(lock, token, duration, predicate);  // likewise
/// \endcode
///
/// The caller holds the lock, and holds it again after each wait, also if an exception leaves it.
///
/// Fibers of any runtime and other threads may use it, if they may use its lock. It may be destroyed as
/// soon as all waiters were notified.
class condition_variable_any final : public detail::basic_condition_variable_any<mutex, condition_variable> {
};

}  // namespace sennit::inline v0_1
