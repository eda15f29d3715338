// sennit::local::counting_semaphore: permits that the fibers of one local runtime take and give back.
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
#include "sennit/detail/sync/local_wait_queue.hpp"

namespace sennit::local {

// As std::counting_semaphore. Who waits is served in order; a permit that is given back goes to the one who
// has waited longest, and nobody comes before it. Its members are those of sennit::counting_semaphore, whose
// header lists them.
//
//   threads  It belongs to no runtime, but all its users must be fibers of one runtime at a time. Outside of
//            fibers it may be used as long as nobody has to wait: to wait there ends the program.
//   misuse   Asserted: more than max() permits; to destroy it while somebody waits is a misuse, too.
//   end      A fiber that is told to leave while it waits (its runtime ends) takes no permit.
class counting_semaphore : public detail::basic_counting_semaphore<detail::local_wait_queue> {
public:
  using basic_counting_semaphore::basic_counting_semaphore;
};

using binary_semaphore = counting_semaphore;

}  // namespace sennit::local
