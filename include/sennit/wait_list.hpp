// sennit::wait_list: waits of one's own, for synchronization types that Sennit does not have.
// room: sync
//
//   sennit::wait_list<int> readers;      // each offers a place for a number
//   int number = 0;
//   readers.lock();
//   readers.wait(number);                // unlocks, and waits until another fiber has stored one
//
//   readers.lock();                      // in that other fiber
//   auto reader = readers.take_first();
//   if (reader)
//     *reader = 7;                       // in its place: it need not run for that
//   readers.unlock();
//   readers.wake(std::move(reader));
#pragma once

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_wait_list.hpp"

namespace sennit::inline v0_1 {

/// A list of fibers and OS threads that wait, under a lock that also protects what they wait for. It is what
/// the channel and the port are made of. Each waiter brings an `Offer`: a place for a value, a value that it
/// gives away, a request. The waker takes a waiter off the list, does its next step in the offer, and wakes
/// it: the waiter finds that step done (recognition).
///
/// \code
///   list.lock();  list.wait(offer);                        // with a stack
///   return become(list.waiting(offer, must_wait), f);      // without; f gets a waited<Offer>
///   list.lock();  auto w = list.take_first();              // the waker
///   if (w) *w = ...;                                       // the sleeper's next step
///   list.unlock();  list.wake(std::move(w));
/// \endcode
///
/// A waker may do in the offer whatever takes few instructions, while it holds the lock and until it wakes
/// the waiter. It must not block, and must not destroy the offer.
///
/// - Order: those that have waited longest are taken first.
/// - Threads: any, and fibers of any parallel runtime. A fiber of a local runtime blocks its thread.
/// - Cancellation: wait() throws sennit::cancelled if a stop_guard ends it; the caller has left the list, and
///   does not hold the lock. Wrap waiting() with stoppable().
/// - Life: a waiter that was taken does not touch the list again. One that gives up does.
/// - Misuse: to wait or to take without the lock, to forget to wake a waiter that was taken (asserted), and
/// to
///   destroy the list while a fiber or thread waits (asserted).
///
/// docs/howto/own_wait.md makes a type with it.
///
/// Source: Draves et al. 1991, sections 2.3 and 2.4 (stack handoff and continuation recognition).
template <class Offer>
class wait_list final : public detail::basic_wait_list<detail::any_thread, Offer> {
public:
  using detail::basic_wait_list<detail::any_thread, Offer>::basic_wait_list;
};

}  // namespace sennit::inline v0_1
