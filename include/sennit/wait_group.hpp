// sennit::wait_group: waits until a number of tasks are done.
// room: sync
//
//   sennit::wait_group pending(3);
//   for (int i = 0; i < 3; ++i)
//     sennit::spawn([&] { work(); pending.done(); }).detach();
//   pending.wait();
//
// It has all members of std::latch, and add(), wait_for() and wait_until().
#pragma once

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_wait_group.hpp"

namespace sennit::inline v0_1 {

/// A counter to wait for. When it reaches 0 all waiters resume, and later waits return at once.
///
/// \code
///   wait_group g(count);                    // 0 by default
///   void g.add(count);                      // 1 by default; only while nothing waits, or the count cannot
///                                           // reach 0 meanwhile
///   void g.done(count);                     // 1 by default; also count_down(count); does not wait
///   void g.arrive_and_wait(count);          // done() and wait() in one step
///   void g.wait();                          // until the count is 0
///   bool g.wait_until(time);                // false: the time came first
///   bool g.wait_for(duration);              // likewise
///   bool g.try_wait();                      // whether the count is 0; does not wait
///   size_t g.pending();                     // the count at the moment
///   g.waiting(), g.waiting_until(deadline)  // for become()
/// \endcode
///
/// - Lifetime: a waiter may destroy the wait group once its wait has returned. To destroy it while a fiber
///   or thread waits is misuse.
/// - Threads: any, and fibers of any runtime. A fiber of a local runtime blocks its thread.
/// - Cancellation: a wait throws sennit::cancelled if a stop_guard ends it. The count is unchanged, except
///   that the arrival of arrive_and_wait() is counted.
///
/// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
class wait_group final : public detail::basic_wait_group<detail::any_thread> {
public:
  using basic_wait_group::basic_wait_group;
};

/// A wait_group, under the name of its counterpart `std::latch`.
using latch = wait_group;

}  // namespace sennit::inline v0_1
