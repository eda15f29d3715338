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

namespace sennit {

// As std::condition_variable_any: waits with any lock that has lock() and unlock(), for any duration, until a
// time of any clock, and until a stop is requested of a std::stop_token. Prefer condition_variable, which
// needs no memory of its own, where the lock is a std::unique_lock<sennit::mutex>.
//
//   notify_one(), notify_all()
//   wait(lock), wait(lock, predicate), wait(lock, token, predicate)
//   wait_until(lock, time), wait_until(lock, time, predicate), wait_until(lock, token, time, predicate)
//   wait_for(lock, duration), wait_for(lock, duration, predicate), wait_for(lock, token, duration, predicate)
//
//   threads  Fibers of any runtime, and other threads, as its lock allows.
//   errors   The constructor throws std::bad_alloc. A wait throws sennit::cancelled where a stop_guard ends
//   it,
//            and what the lock throws. The caller holds the lock again in any case.
//   lifetime It may be destroyed as soon as all waiters were notified.
class condition_variable_any final : public detail::basic_condition_variable_any<mutex, condition_variable> {
};

}  // namespace sennit
