// sennit::local::barrier: a number of fibers of one local runtime wait for each other, again and again.
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
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::barrier, with the same members and results, without atomic operations. The completion must
/// not block or throw, and debug builds report it if it blocks.
///
/// It belongs to no runtime, but only fibers of one runtime at a time may use it. A fiber whose wait ends
/// by an exception, because of a stop or because its runtime ends, has still arrived.
template <class Completion = no_completion>
class barrier final : public detail::basic_barrier<detail::one_thread, Completion> {
public:
  using detail::basic_barrier<detail::one_thread, Completion>::basic_barrier;
};
/// Deduces the type of the completion.
template <class Completion = no_completion>
barrier(std::size_t, Completion = {}) -> barrier<Completion>;

}  // namespace sennit::inline v0_1::local
