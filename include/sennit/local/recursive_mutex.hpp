// sennit::local::recursive_mutex: a mutex that its owner, a fiber of a local runtime, may lock again.
// room: sync
//
//   sennit::local::recursive_mutex mutex;
//   std::lock_guard hold(mutex);
//   std::lock_guard again(mutex);  // in a function that is also called without the lock
//
// Source: Dolan 2013, section 5.1 (mutexes).
#pragma once

#include "sennit/detail/sync/basic_recursive_mutex.hpp"
#include "sennit/local/mutex.hpp"

namespace sennit::local {

// Meets the std TimedLockable requirements. First come, first served, as local::mutex. The owner is the
// fiber; outside of fibers it is the thread. It is free when it has been unlocked as often as locked, by its
// owner. Its members are those of sennit::recursive_mutex, whose header lists them.
//
//   threads  It belongs to no runtime, but all its users must be fibers of one runtime at a time. Outside of
//            fibers it may be used as long as nobody has to wait: to wait there ends the program.
//   misuse   Asserted: to unlock what another has locked, or nobody; to destroy one that is locked.
//   end      A fiber that is told to leave while it waits (its runtime ends) does not have the lock.
class recursive_mutex : public detail::basic_recursive_mutex<mutex> {
public:
  using basic_recursive_mutex::basic_recursive_mutex;
};

}  // namespace sennit::local
