// sennit::recursive_mutex: a mutex that its owner, a fiber or an OS thread, may lock again.
// room: sync
//
//   sennit::recursive_mutex mutex;
//   std::lock_guard hold(mutex);
//   std::lock_guard again(mutex);  // in a function that is also called without the lock
#pragma once

#include "sennit/detail/sync/basic_recursive_mutex.hpp"
#include "sennit/mutex.hpp"

namespace sennit {

// Meets the std TimedLockable requirements. The owner is the fiber, wherever it runs, not its worker's
// thread: other fibers of that thread wait. Outside of fibers it is the OS thread. It is free when it has
// been unlocked as often as locked, by its owner; for another to unlock it is a misuse (asserted), and so is
// destroying one that is locked. (A fiber of a local runtime blocks its thread.)
//
//   recursive_mutex(wait_options = {})
//                  wait_options.hpp: the order of who waits, and whom it is given to.
//   lock()         waits until nobody else has it, and takes it once more.
//   try_lock()     false: another has it. Does not wait.
//   try_lock_until(deadline), try_lock_for(time)
//                  false: that (steady clock) has passed first.
//   unlock()       gives back one of the caller's locks.
//
// It has no form of lock() for become(). A wait throws sennit::cancelled where a stop is requested
// (stop_guard.hpp), and does not have the lock.
//
// Source: Dolan 2013, section 5.1 (mutexes).
class recursive_mutex : public detail::basic_recursive_mutex<mutex> {
public:
  using basic_recursive_mutex::basic_recursive_mutex;
};

}  // namespace sennit
