// sennit::wait_group: waits until some number of things are done.
// room: sync
//
//   sennit::wait_group pending(3);
//   for (int i = 0; i < 3; ++i)
//     sennit::spawn([&] { work(); pending.done(); }).detach();
//   pending.wait();
//
// It is std::latch, too: that has all but add(), wait_for() and wait_until().
#pragma once

#include "sennit/detail/sync/basic_wait_group.hpp"
#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit {

// When the count has come to 0, all who wait go on, and who waits later does not wait. Who waits may destroy
// it after its wait.
//
//   wait_group(count = 0)  `count`: of things to wait for.
//   add(count = 1)         so many more. Not when the count may come to 0 at the same time and somebody
//                          waits.
//   done(count = 1), count_down(count = 1)
//                          so many are done, at most as many as are pending (asserted).
//   wait()                 until none is pending.
//   wait_until(deadline), wait_for(time)
//                          false: that (steady clock) has passed first.
//   try_wait()             whether none is pending; does not wait.
//   pending()              how many are just now.
//   arrive_and_wait(count = 1)
//                          done(count), then wait().
//   waiting(), waiting_until(deadline)
//                          wait() and wait_until() without a stack, for become(), whose function gets the
//                          latter's result.
//
//   threads  Any, and fibers of any runtime. (A fiber of a local runtime blocks its thread.)
//   errors   A wait throws sennit::cancelled where a stop is requested (stop_guard.hpp).
//   misuse   To destroy it while somebody waits.
//
// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
class wait_group : public detail::basic_wait_group<detail::wait_queue> {
public:
  using basic_wait_group::basic_wait_group;
};

using latch = wait_group;

}  // namespace sennit
