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
//
//   wait()              until it is set; at once, if it is.
//   wait_until(deadline), wait_for(time)
//                       false: that (steady clock) has passed first.
//   is_set()            does not wait.
//   set()               all who wait go on. May be repeated.
//   reset()             who waits from now on waits for the next set().
//   waiting(), waiting_until(deadline)
//                       wait() and wait_until() without a stack, for become(), whose function gets the
//                       latter's result.
//
//   threads  Any, and fibers of any runtime. (A fiber of a local runtime blocks its thread.)
//   errors   A wait throws sennit::cancelled where a stop is requested (stop_guard.hpp).
//   misuse   To destroy it while somebody waits.
//
// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
class event : public detail::basic_event<detail::wait_queue> {};

}  // namespace sennit
