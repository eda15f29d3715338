// sennit::shared_mutex: many readers or one writer: fibers, on any worker of any parallel runtime, and OS
// threads.
// room: sync
//
//   sennit::shared_mutex mutex;
//   std::shared_lock reading(mutex);  // together with other readers; blocks the fiber, not its worker
//   ...
//   std::unique_lock writing(mutex);  // exclusively
#pragma once

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_shared_mutex.hpp"

namespace sennit::inline v0_1 {

/// A readers-writer lock that blocks only the calling fiber, or the calling OS thread. It meets the std
/// SharedTimedLockable requirements. Any fiber or thread may unlock it.
///
/// \code
///   void m.lock();                       // waits
///   bool m.try_lock();                   // does not wait
///   bool m.try_lock_until(time);         // false: the time came first; the caller does not hold it
///   bool m.try_lock_for(duration);       // likewise
///   void m.unlock();                     // does not wait
///   void m.lock_shared();                // waits while it is locked exclusively, or anything waits
///   bool m.try_lock_shared();            // false also if a writer waits
///   bool m.try_lock_shared_until(time);  // false: the time came first
///   bool m.try_lock_shared_for(duration);
///   void m.unlock_shared();
///   // For become():
///   m.locking(), m.locking_until(deadline), m.locking_shared(), m.locking_shared_until(deadline)
/// \endcode
///
/// - Order: waiters are served in the order in which they came. A waiting writer keeps new readers out, so
///   that neither readers nor writers starve. An unlock hands the mutex to the waiter that has waited
///   longest: to a writer, or to a reader and all readers directly behind it. When a waiting writer gives
///   up, the readers behind it no longer wait for it.
/// - Cost: one compare-and-swap to lock and one to unlock, while it is free, or held by readers and nothing
///   waits.
/// - Cancellation: a wait throws sennit::cancelled if a stop_guard ends it, and the caller does not hold
///   the mutex. That is also so for a fiber whose runtime ends while it waits.
/// - Misuse, asserted: to unlock it in a way in which it is not locked, and to destroy it while it is
///   locked. To lock it again while holding it, even shared and shared, blocks forever as soon as a writer
///   waits in between. A fiber of a local runtime blocks its thread.
///
/// Source: Dolan 2013, section 5.1 (mutexes).
class shared_mutex final : public detail::basic_shared_mutex<detail::any_thread> {};

}  // namespace sennit::inline v0_1
