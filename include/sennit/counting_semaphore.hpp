// sennit::counting_semaphore: permits that fibers and OS threads take and give back.
// room: sync
//
//   sennit::counting_semaphore connections(100);
//   connections.acquire();
//   ...
//   connections.release();
#pragma once

#include "sennit/detail/sync/basic_counting_semaphore.hpp"
#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit {

// As std::counting_semaphore. Who waits is served in order; a permit that is given back goes to the one who
// has waited longest.
class counting_semaphore : public detail::basic_counting_semaphore<detail::wait_queue> {
public:
  using basic_counting_semaphore::basic_counting_semaphore;
};

using binary_semaphore = counting_semaphore;

}  // namespace sennit
