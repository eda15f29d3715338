// sennit::local::event: something that has happened, or not yet, to the fibers of one local runtime.
// room: sync
//
//   sennit::local::event ready;
//   ready.wait();  // in any number of fibers
//   ready.set();   // in one: all go on
//
// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
#pragma once

#include "sennit/detail/sync/basic_event.hpp"
#include "sennit/detail/sync/local_wait_queue.hpp"

namespace sennit::local {

// Once set it stays so until it is reset. set() makes ready all who wait, in their order, and goes on. Who
// waits may destroy it after its wait. Its members are those of sennit::event, whose header lists them.
//
//   threads  It belongs to no runtime, but all its users must be fibers of one runtime at a time. Outside of
//            fibers it may be used as long as nobody has to wait: to wait there ends the program.
//   misuse   To destroy it while somebody waits.
//   end      A fiber that is told to leave while it waits (its runtime ends) leaves the event as it is.
class event : public detail::basic_event<detail::local_wait_queue> {};

}  // namespace sennit::local
