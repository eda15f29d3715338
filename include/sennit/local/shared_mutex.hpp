// sennit::local::shared_mutex: many readers or one writer, among the fibers of one local runtime.
// room: sync
//
//   sennit::local::shared_mutex mutex;
//   std::shared_lock reading(mutex);  // with others who read; blocks the fiber, not the thread
//   ...
//   std::unique_lock writing(mutex);  // alone
//
// Source: Dolan 2013, section 5.1 (mutexes).
#pragma once

#include "sennit/detail/sync/basic_shared_mutex.hpp"
#include "sennit/detail/sync/local_wait_queue.hpp"

namespace sennit::local {

// Meets the std SharedTimedLockable requirements. Who unlocks need not be who locked. Its members are those
// of sennit::shared_mutex, whose header lists them.
//
//   order    Who comes while somebody waits, waits behind it: a waiting writer keeps new readers out, and
//            neither readers nor writers starve. Whoever lets go hands over to who has waited longest: to a
//            writer, or to a reader and all readers right behind it. When a waiting writer gives up, the
//            readers behind it no longer wait for it.
//   threads  It belongs to no runtime, but all its users must be fibers of one runtime at a time. Outside of
//            fibers it may be used as long as nobody has to wait: to wait there ends the program.
//   misuse   Asserted: to unlock what is not locked, or not locked in that way; to destroy it while it is
//            locked. To lock it again while holding it, also shared and shared, blocks forever as soon as a
//            writer waits in between.
//   end      A fiber that is told to leave while it waits (its runtime ends) leaves the queue, and does not
//            have the lock.
class shared_mutex : public detail::basic_shared_mutex<detail::local_wait_queue> {};

}  // namespace sennit::local
