// sennit::local::barrier: some number of fibers of one local runtime wait for each other, again and again.
// room: sync
//
//   sennit::local::barrier round(4);  // in each of four fibers:
//   for (;;) {
//     step();
//     round.arrive_and_wait();
//   }
//
// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
#pragma once

#include <cstddef>

#include "sennit/detail/sync/basic_barrier.hpp"
#include "sennit/detail/sync/local_wait_queue.hpp"

namespace sennit::local {

// As std::barrier. The last to arrive calls `Completion`, before any waiter resumes; it must not block or
// throw, and debug builds report it if it blocks. Its members are those of sennit::barrier, whose header
// lists them.
//
//   threads  It belongs to no runtime, but all its users must be fibers of one runtime at a time.
//   misuse   Asserted: a barrier for nobody; more arrive than it expects. To destroy it while somebody waits.
//   end      Who leaves its wait by an exception (its runtime ends) has arrived all the same.
template <class Completion = no_completion>
class barrier : public detail::basic_barrier<detail::local_wait_queue, Completion> {
public:
  using detail::basic_barrier<detail::local_wait_queue, Completion>::basic_barrier;
};
template <class Completion = no_completion>
barrier(std::size_t, Completion = {}) -> barrier<Completion>;

}  // namespace sennit::local
