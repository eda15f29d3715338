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

namespace sennit::inline v0_1::local {

/// Like sennit::recursive_mutex, with the same members and results, without atomic operations, and fair as
/// local::mutex.
///
/// It belongs to no runtime, but only fibers of one runtime at a time may use it. Outside of fibers, where
/// the owner is the thread, it may be used as long as no wait is needed: to wait there ends the program. A
/// fiber whose wait is cancelled, or whose runtime ends while it waits, does not hold the mutex.
class recursive_mutex : public detail::basic_recursive_mutex<mutex> {
public:
  using basic_recursive_mutex::basic_recursive_mutex;
};

}  // namespace sennit::inline v0_1::local
