// sennit::event: something that has happened, or not yet.
// room: sync
//
//   sennit::event ready;
//   ready.wait();  // in any number of fibers and OS threads
//   ready.set();   // in one: all go on
#pragma once

#include "sennit/detail/sync/basic_event.hpp"
#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit {

// Once set it stays so until it is reset. Who waits may destroy it after its wait.
class event : public detail::basic_event<detail::wait_queue> {};

}  // namespace sennit
