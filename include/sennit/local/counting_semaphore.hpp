// sennit::local::counting_semaphore: permits that the fibers of one local runtime acquire and release.
// room: sync
//
//   sennit::local::counting_semaphore connections(100);
//   connections.acquire();  // blocks the fiber, not the thread
//   ...
//   connections.release();
//
// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
#pragma once

#include "sennit/detail/sync/basic_counting_semaphore.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::counting_semaphore, with the same members and results, without atomic operations. A released
/// permit goes to the fiber that has waited longest, and no other fiber gets it first.
///
/// It belongs to no runtime, but only fibers of one runtime at a time may use it. Outside of fibers it may
/// be used as long as no wait is needed: to wait there ends the program. If a wait is cancelled, or its
/// fiber's runtime ends, no permit is consumed. Misuse: more than max() permits (asserted), and to destroy
/// it while a fiber waits.
class counting_semaphore final : public detail::basic_counting_semaphore<detail::one_thread> {
public:
  using basic_counting_semaphore::basic_counting_semaphore;
};

/// Like `std::binary_semaphore`. It does not check that there is at most one permit.
using binary_semaphore = counting_semaphore;

}  // namespace sennit::inline v0_1::local
