// sennit::local::wait_group: waits until the fibers of one local runtime have done some number of things.
// room: sync
//
//   sennit::local::wait_group pending(3);
//   for (int i = 0; i < 3; ++i)
//     sennit::local::spawn([&] { work(); pending.done(); }).detach();
//   pending.wait();
//
// It is std::latch, too: that has all but add(), wait_for() and wait_until().
//
// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
#pragma once

#include "sennit/detail/sync/basic_wait_group.hpp"
#include "sennit/detail/sync/local_wait_queue.hpp"

namespace sennit::local {

// When the count has come to 0, all who wait go on, in their order, and who waits later does not wait. Who
// waits may destroy it after its wait. Its members are those of sennit::wait_group, whose header lists them.
//
//   threads  It belongs to no runtime, but all its users must be fibers of one runtime at a time. Outside of
//            fibers it may be used as long as nobody has to wait: to wait there ends the program.
//   misuse   Asserted: more is done than was to do. To destroy it while somebody waits.
//   end      A fiber that is told to leave while it waits (its runtime ends) leaves the count as it is.
class wait_group : public detail::basic_wait_group<detail::local_wait_queue> {
public:
  using basic_wait_group::basic_wait_group;
};

using latch = wait_group;

}  // namespace sennit::local
