// sennit::local::shared_mutex: many readers or one writer, among the fibers of one local runtime.
// room: sync
//
//   sennit::local::shared_mutex mutex;
//   std::shared_lock reading(mutex);  // together with other readers; blocks the fiber, not the thread
//   ...
//   std::unique_lock writing(mutex);  // exclusively
//
// Source: Dolan 2013, section 5.1 (mutexes).
#pragma once

#include "sennit/detail/sync/basic_shared_mutex.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::shared_mutex, with the same members, results and order of waiters, without atomic operations.
///
/// It belongs to no runtime, but only fibers of one runtime at a time may use it. Outside of fibers it may
/// be used as long as no wait is needed: to wait there ends the program. A fiber whose wait is cancelled,
/// or whose runtime ends while it waits, does not hold the mutex.
class shared_mutex final : public detail::basic_shared_mutex<detail::one_thread> {};

}  // namespace sennit::inline v0_1::local
