// sennit::recursive_mutex: a mutex that its owner, a fiber or an OS thread, may lock again.
// room: sync
//
//   sennit::recursive_mutex mutex;
//   std::lock_guard hold(mutex);
//   std::lock_guard again(mutex);  // in a function that is also called without the lock
#pragma once

#include "sennit/detail/sync/basic_recursive_mutex.hpp"
#include "sennit/mutex.hpp"

namespace sennit::inline v0_1 {

/// A mutex that its owner may lock again. It meets the std TimedLockable requirements.
///
/// \code
///   void m.lock();                         // waits
///   bool m.try_lock();                     // does not wait
///   bool m.try_lock_until(time);           // false: the time came first; the caller does not hold it
///   bool m.try_lock_for(duration);         // likewise
///   void m.unlock();                       // does not wait
///   recursive_mutex m(wait_options{...});  // other rules for waiters: wait_options.hpp
/// \endcode
///
/// It has no form of lock() for become().
///
/// - Owner: the fiber, on whichever worker it runs. Other fibers of the same thread wait. Outside of fibers
///   the owner is the OS thread. A fiber of a local runtime may use it, but blocks its thread.
/// - It is free when its owner has unlocked it as often as it has locked it.
/// - Cancellation: a wait throws sennit::cancelled if a stop_guard ends it, and the caller does not hold
///   the mutex.
/// - Misuse, asserted: another fiber or thread than the owner unlocks it; it is destroyed while it is
///   locked.
///
/// Source: Dolan 2013, section 5.1 (mutexes).
class recursive_mutex : public detail::basic_recursive_mutex<mutex> {
public:
  using basic_recursive_mutex::basic_recursive_mutex;
};

}  // namespace sennit::inline v0_1
