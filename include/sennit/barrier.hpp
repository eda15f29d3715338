// sennit::barrier: some number of fibers and OS threads wait for each other, again and again.
// room: sync
//
//   sennit::barrier round(4);  // in each of four fibers:
//   for (;;) {
//     step();
//     round.arrive_and_wait();
//   }
#pragma once

#include <cstddef>

#include "sennit/detail/sync/basic_barrier.hpp"
#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit {

// As std::barrier. The last to arrive calls `Completion`, before any waiter resumes, and with the barrier's
// lock held: it must not block or throw, and debug builds report it if it blocks. A waiter that leaves its
// wait by an exception has arrived all the same.
//
//   barrier(expected, completion = {})
//                          `expected`: how many arrive in each phase; at least 1 (asserted).
//   arrive_and_wait()      arrives, and waits until all have.
//   arrive(count = 1)      arrives, as so many, without waiting. Returns a token of the phase, for wait().
//   wait(token)            waits until that phase is over.
//   arrive_and_drop()      arrives without waiting; this and all later phases expect one less.
//   waiting(token), arriving()
//                          wait() and arrive_and_wait() without a stack, for become(), whose function gets
//                          nothing. It has arrived when the call returns.
//
//   threads  Any, and fibers of any runtime. (A fiber of a local runtime blocks its thread.)
//   errors   A wait throws sennit::cancelled where a stop is requested (stop_guard.hpp).
//   misuse   Asserted: more arrive than are expected. To destroy it while somebody waits.
//
// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
template <class Completion = no_completion>
class barrier : public detail::basic_barrier<detail::wait_queue, Completion> {
public:
  using detail::basic_barrier<detail::wait_queue, Completion>::basic_barrier;
};
template <class Completion = no_completion>
barrier(std::size_t, Completion = {}) -> barrier<Completion>;

}  // namespace sennit
