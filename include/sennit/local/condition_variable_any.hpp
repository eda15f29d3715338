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

namespace sennit::local {

// As std::condition_variable_any: waits with any lock that has lock() and unlock(), for any duration, until a
// time of any clock, and until a stop is requested of a std::stop_token. Prefer condition_variable, which
// needs no memory of its own, where the lock is a std::unique_lock<sennit::local::mutex>.
//
//   notify_one(), notify_all()
//   wait(lock), wait(lock, predicate), wait(lock, token, predicate)
//   wait_until(lock, time), wait_until(lock, time, predicate), wait_until(lock, token, time, predicate)
//   wait_for(lock, duration), wait_for(lock, duration, predicate), wait_for(lock, token, duration, predicate)
//
//   threads  Fibers of one runtime at a time.
//   errors   The constructor throws std::bad_alloc. A wait throws sennit::cancelled where a stop_guard ends
//   it,
//            and what the lock throws. The caller holds the lock again in any case.
//   lifetime It may be destroyed as soon as all waiters were notified.
class condition_variable_any final
    : public sennit::detail::basic_condition_variable_any<mutex, condition_variable> {};

}  // namespace sennit::local
