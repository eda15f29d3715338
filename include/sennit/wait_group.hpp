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
class wait_group : public detail::basic_wait_group<detail::wait_queue> {
public:
  using basic_wait_group::basic_wait_group;
};

using latch = wait_group;

}  // namespace sennit
