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
/// condition_variable, which allocates nothing, if the lock is a `std::unique_lock<sennit::mutex>`. Its
/// members are those of detail::basic_condition_variable_any: notify_one(), notify_all(), wait(),
/// wait_until() and wait_for().
///
/// Fibers of any runtime and other threads may use it, if they may use its lock. It may be destroyed as
/// soon as all waiters were notified.
class condition_variable_any final : public detail::basic_condition_variable_any<mutex, condition_variable> {
};

}  // namespace sennit::inline v0_1
