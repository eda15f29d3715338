// sennit::mutex: mutual exclusion between fibers, on any worker of any parallel runtime, and OS threads.
// room: sync
//
//   sennit::mutex mutex;
//   std::lock_guard hold(mutex);  // blocks the fiber, not its worker
//
// Source: Dolan 2013, section 5.1 (mutexes).
#pragma once

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_mutex.hpp"

namespace sennit::inline v0_1 {

/// A mutex that blocks only the calling fiber, or the calling OS thread. It meets the std TimedLockable
/// requirements.
///
/// \code
///   mutex m, fair(wait_options{...});       // other rules for waiters: wait_options.hpp
///   void m.lock();                          // waits
///   bool m.try_lock();                      // does not wait
///   bool m.try_lock_until(time);            // false: the time came first; the caller does not hold it
///   bool m.try_lock_for(duration);          // likewise
///   void m.unlock();                        // does not wait
///   m.locking(), m.locking_until(deadline)  // for become()
/// \endcode
///
/// - Cancellation: a wait throws sennit::cancelled if a stop_guard ends it. The caller does not hold the
///   mutex then.
/// - Order: the mutex is barging by default. A fiber that unlocks it and locks it again without a wait in
///   between can keep others out. With `wait_options{.fairness = fairness::fair}`, and in sennit::local,
///   unlock() passes the mutex to the fiber that has waited longest.
/// - Owner: any fiber or thread may unlock it. A fiber of a local runtime may use it, but blocks its
///   thread.
/// - Not recursive: a fiber that locks it twice without a deadline waits for itself. That ends the program
///   with a message where deadlocks are reported (runtime_options::report_deadlock), even if another fiber
///   would have unlocked it.
/// - Cost: one compare-and-swap to lock it if it is free, and one to unlock it. With
///   `wait_options{.bias = true}`, none for fibers of the worker that used it first. If it is first locked
///   while a runtime reports deadlocks, reports and dumps name its owner, and it is slower.
/// - Misuse, asserted in debug builds: to unlock a mutex that is not locked, and to destroy one that is
///   locked.
class mutex final : public detail::basic_mutex<detail::any_thread> {
public:
  using basic_mutex::basic_mutex;
};

}  // namespace sennit::inline v0_1
