// sennit::local::condition_variable_any: a condition variable that waits with any lock.
// room: sync
//
//   sennit::local::shared_mutex mutex;
//   sennit::local::condition_variable_any changed;
//   std::shared_lock hold(mutex);
//   changed.wait(hold, [&] { return ready; });
#pragma once

#include "sennit/detail/sync/basic_condition_variable_any.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/mutex.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::condition_variable_any, with the same members and results, for the fibers of one local
/// runtime at a time. Prefer local::condition_variable, which allocates nothing, if the lock is a
/// `std::unique_lock<sennit::local::mutex>`. It may be destroyed as soon as all waiters were notified.
class condition_variable_any final
    : public sennit::detail::basic_condition_variable_any<mutex, condition_variable> {};

}  // namespace sennit::inline v0_1::local
