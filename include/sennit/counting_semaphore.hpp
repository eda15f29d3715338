// sennit::counting_semaphore: permits that fibers and OS threads acquire and release.
// room: sync
//
//   sennit::counting_semaphore connections(100);
//   connections.acquire();
//   ...
//   connections.release();
#pragma once

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_counting_semaphore.hpp"

namespace sennit::inline v0_1 {

/// Like `std::counting_semaphore`: a number of permits. Waiters are served in the order in which they came:
/// a permit that is released goes to the waiter that has waited longest.
///
/// \code
///   counting_semaphore s(permits);
///   void s.acquire();                           // waits for a permit, and takes it
///   bool s.try_acquire();                       // does not wait
///   bool s.try_acquire_until(time);             // false: the time came first; no permit is consumed
///   bool s.try_acquire_for(duration);           // likewise
///   void s.release(permits);                    // 1 by default; does not wait; the caller need not have
///                                               // acquired any
///   size_t counting_semaphore::max();           // the maximum number of permits
///   s.acquiring(), s.acquiring_until(deadline)  // for become()
/// \endcode
///
/// - Threads: any, and fibers of any runtime. A fiber of a local runtime blocks its thread.
/// - Cancellation: a wait throws sennit::cancelled if a stop_guard ends it. No permit is consumed.
/// - Misuse: to destroy the semaphore while a fiber or thread waits.
///
/// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
class counting_semaphore final : public detail::basic_counting_semaphore<detail::any_thread> {
public:
  using basic_counting_semaphore::basic_counting_semaphore;
};

/// Like `std::binary_semaphore`. It does not check that there is at most one permit.
using binary_semaphore = counting_semaphore;

}  // namespace sennit::inline v0_1
