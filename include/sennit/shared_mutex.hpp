// sennit::shared_mutex: many readers or one writer: fibers, on any worker of any parallel runtime, and OS
// threads.
// room: sync
//
//   sennit::shared_mutex mutex;
//   std::shared_lock reading(mutex);  // with others who read; blocks the fiber, not its worker
//   ...
//   std::unique_lock writing(mutex);  // alone
#pragma once

#include "sennit/detail/sync/basic_shared_mutex.hpp"
#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit {

// Meets the std SharedTimedLockable requirements. Who unlocks need not be who locked.
//
//   order    Who comes while somebody waits, waits behind it: a waiting writer keeps new readers out, and
//            neither readers nor writers starve. Whoever lets go hands over to who has waited longest: to a
//            writer, or to a reader and all readers right behind it. When a waiting writer gives up, the
//            readers behind it no longer wait for it.
//   cost     Free, or held by readers with nobody waiting: one compare-and-swap to lock and one to unlock.
//   misuse   Asserted: to unlock what is not locked, or not locked in that way; to destroy it while it is
//            locked. To lock it again while holding it, also shared and shared, blocks forever as soon as a
//            writer waits in between. (A fiber of a local runtime blocks its thread.)
//   end      A fiber whose runtime ends while it waits leaves the queue, and does not have the lock. A wait
//            throws sennit::cancelled where a stop is requested (stop_guard.hpp): the same.
//
//   lock(), lock_shared()            wait for it, alone or with other readers.
//   try_lock(), try_lock_shared()    false: that would have to wait.
//   try_lock_until(deadline), try_lock_for(time), try_lock_shared_until(deadline), try_lock_shared_for(time)
//                                    false: that (steady clock) has passed first.
//   unlock(), unlock_shared()        give back what was locked in that way.
//   locking(), locking_until(deadline), locking_shared(), locking_shared_until(deadline)
//                                    the same without a stack, for become(). Its function goes on with the
//                                    mutex locked; with a deadline it gets whether it is.
//
// Source: Dolan 2013, section 5.1 (mutexes).
class shared_mutex : public detail::basic_shared_mutex<detail::wait_queue> {};

}  // namespace sennit
