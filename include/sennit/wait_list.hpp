// sennit::wait_list: waits of one's own, for synchronization types that Sennit does not have.
// room: sync
//
//   sennit::wait_list<int> readers;  // each offers a place for a number
//   std::deque<int> numbers;         // protected by the list's lock
//
//   int read() {
//     int mine = 0;
//     readers.wait(mine, [&](int& place) {  // called with the lock held
//       if (numbers.empty())
//         return true;  // wait
//       place = numbers.front();
//       numbers.pop_front();
//       return false;
//     });
//     return mine;
//   }
//   void write(int number) {
//     readers.locked([&](auto& waiting) {
//       if (!waiting.wake_first([&](int& place) { place = number; }))  // the reader's next step
//         numbers.push_back(number);
//     });
//   }
#pragma once

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_wait_list.hpp"

namespace sennit::inline v0_1 {

/// A list of fibers and OS threads that wait, with a lock that also protects what they wait for. Each waiter
/// brings an `Offer`: a place for a value, a value that it gives away, a request. A waker does the waiter's
/// next step in the offer, and wakes it: the waiter finds that step done (recognition).
///
/// \code
///   list.wait(offer, must_wait);                            // with a stack; returns a wait_list_end
///   return become(list.waiting(offer, must_wait), f);       // without; f gets a waited<Offer>
///   list.locked([&](auto& waiting) {                        // the waker
///     waiting.wake_first([&](Offer& its) { its = ...; });   // the sleeper's next step
///   });
/// \endcode
///
/// - Functions: `must_wait`, `step` and `which`, and the function of locked(), run with the lock held. The
///   lock is a spin lock, so they do little. While one runs, no check makes the fiber yield, and a fault ends
///   the process. They may spawn, wake waiters of other objects, and use other lists, in an order without
///   cycles. They must not block, yield, stop a scope, or use the same list except by their argument; builds
///   with assertions then end the program with a message.
/// - Order: those that have waited longest are woken first.
/// - Threads: any, and fibers of any parallel runtime. A fiber of a local runtime blocks its thread.
/// - Giving up: no step is done in the offer of a waiter that gives up. wait() throws sennit::cancelled if a
///   stop_guard ends it. Wrap waiting() with stoppable().
/// - Life: a waiter that was woken may destroy the list. One that gives up still uses it. To destroy it while
///   a fiber or thread waits is misuse (asserted).
///
/// docs/howto/own_wait.md makes a type with it.
///
/// Source: Draves et al. 1991, sections 2.3 and 2.4 (stack handoff and continuation recognition).
template <class Offer>
class wait_list final : public detail::basic_wait_list<detail::any_thread, Offer> {};

}  // namespace sennit::inline v0_1
