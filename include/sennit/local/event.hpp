// sennit::local::event: a flag that the fibers of one local runtime wait for.
// room: sync
//
//   sennit::local::event ready;
//   ready.wait();  // in any number of fibers
//   ready.set();   // in one: all resume
//
// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
#pragma once

#include "sennit/detail/sync/basic_event.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::event, with the same members and results, without atomic operations: set() makes the waiters
/// ready in their order, and the caller continues.
///
/// It belongs to no runtime, but only fibers of one runtime at a time may use it. Outside of fibers it may
/// be used as long as no wait is needed: to wait there ends the program. If a wait is cancelled, or its
/// fiber's runtime ends, the event is unchanged.
class event final : public detail::basic_event<detail::one_thread> {};

}  // namespace sennit::inline v0_1::local
