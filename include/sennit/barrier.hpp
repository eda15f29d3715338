// sennit::barrier: a number of fibers and OS threads wait for each other, again and again.
// room: sync
//
//   sennit::barrier round(4);  // in each of four fibers:
//   for (;;) {
//     step();
//     round.arrive_and_wait();
//   }
#pragma once

#include <cstddef>

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_barrier.hpp"

namespace sennit::inline v0_1 {

/// Like `std::barrier`: waiters resume when all participants of a phase have arrived.
///
/// \code
///   barrier b(expected, completion);           // the number of arrivals in each phase; the completion is
///                                              // optional
///   void b.arrive_and_wait();                  // until the phase has ended
///   arrival_token token = b.arrive(count);     // 1 by default; does not wait
///   void b.wait(std::move(token));             // until the phase of the token has ended
///   void b.arrive_and_drop();                  // does not wait; this and later phases expect one arrival
///                                              // less
///   b.arriving(), b.waiting(std::move(token))  // for become()
/// \endcode
///
/// No member has a deadline.
///
/// - Completion: the last to arrive calls it, before any waiter resumes, and while it holds the barrier's
///   lock. It must not block or throw; debug builds report it if it blocks.
/// - Threads: any, and fibers of any runtime. A fiber of a local runtime blocks its thread.
/// - Cancellation: a wait throws sennit::cancelled if a stop_guard ends it. The caller's arrival is still
///   counted.
/// - Misuse: more arrivals than expected (asserted), and to destroy the barrier while a fiber or thread
///   waits.
///
/// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
template <class Completion = no_completion>
class barrier final : public detail::basic_barrier<detail::any_thread, Completion> {
public:
  using detail::basic_barrier<detail::any_thread, Completion>::basic_barrier;
};
/// Deduces the type of the completion.
template <class Completion = no_completion>
barrier(std::size_t, Completion = {}) -> barrier<Completion>;

}  // namespace sennit::inline v0_1
