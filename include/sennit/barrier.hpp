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

// As std::barrier. `Completion` is called by the last to arrive, before anybody goes on; it must not block,
// nor throw. Who leaves its wait by an exception has arrived all the same.
template <class Completion = no_completion>
class barrier : public detail::basic_barrier<detail::wait_queue, Completion> {
public:
  using detail::basic_barrier<detail::wait_queue, Completion>::basic_barrier;
};
template <class Completion = no_completion>
barrier(std::size_t, Completion = {}) -> barrier<Completion>;

}  // namespace sennit
