// sennit::local::wait_group: waits until the fibers of one local runtime have done a number of tasks.
// room: sync
//
//   sennit::local::wait_group pending(3);
//   for (int i = 0; i < 3; ++i)
//     sennit::local::spawn([&] { work(); pending.done(); }).detach();
//   pending.wait();
//
// It has all members of std::latch, and add(), wait_for() and wait_until().
//
// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
#pragma once

#include "sennit/detail/sync/basic_wait_group.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::wait_group, with the same members and results, without atomic operations: waiters resume in
/// their order.
///
/// It belongs to no runtime, but only fibers of one runtime at a time may use it. Outside of fibers it may
/// be used as long as no wait is needed: to wait there ends the program. If a wait is cancelled, or its
/// fiber's runtime ends, the count is unchanged.
class wait_group final : public detail::basic_wait_group<detail::one_thread> {
public:
  using basic_wait_group::basic_wait_group;
};

/// A local::wait_group, under the name of its counterpart `std::latch`.
using latch = wait_group;

}  // namespace sennit::inline v0_1::local
