// sennit::local::mutex: mutual exclusion between the fibers of one local runtime.
// room: sync
//
//   sennit::local::mutex mutex;
//   std::lock_guard hold(mutex);  // blocks the fiber, not the thread
//
// Source: Dolan 2013, section 5.1 (mutexes).
#pragma once

#include "sennit/detail/sync/basic_mutex.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::mutex, with the same members and results, without atomic operations, for the fibers of one
/// local runtime at a time. It meets the std TimedLockable requirements.
///
/// It is fair by default: unlock() hands it to the fiber that has waited longest. No other fiber runs at
/// the same time, so that fairness costs nothing here. It is not recursive: a fiber that locks it twice
/// waits for itself, which ends the program with a message where deadlocks are reported. Misuse, asserted:
/// to unlock a mutex that is not locked, and to destroy one that is locked or waited for.
class mutex final : public detail::basic_mutex<detail::one_thread> {
public:
  using basic_mutex::basic_mutex;
};

}  // namespace sennit::inline v0_1::local
