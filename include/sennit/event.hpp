// sennit::event: a flag that fibers and OS threads wait for.
// room: sync
//
//   sennit::event ready;
//   ready.wait();  // in any number of fibers and OS threads
//   ready.set();   // in one: all resume
#pragma once

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_event.hpp"

namespace sennit::inline v0_1 {

/// A flag to wait for. Once set, it stays set until it is reset.
///
/// \code
///   void e.set();                           // all waiters resume; does not wait; may be called again
///   void e.reset();                         // later waits wait for the next set()
///   bool e.is_set();                        // does not wait
///   void e.wait();                          // returns at once if it is set
///   bool e.wait_until(time);                // false: the time came first
///   bool e.wait_for(duration);              // likewise
///   e.waiting(), e.waiting_until(deadline)  // for become()
/// \endcode
///
/// - Lifetime: a waiter may destroy the event once its wait() has returned. To destroy it while a fiber or
///   thread waits is misuse.
/// - Threads: any, and fibers of any runtime. A fiber of a local runtime blocks its thread.
/// - Cancellation: a wait throws sennit::cancelled if a stop_guard ends it. The event is unchanged.
///
/// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
class event final : public detail::basic_event<detail::any_thread> {};

}  // namespace sennit::inline v0_1
