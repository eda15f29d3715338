// sennit::local::condition_variable: fibers of one local runtime wait for each other.
// room: sync
//
//   sennit::local::mutex mutex;
//   sennit::local::condition_variable changed;
//   std::unique_lock lock(mutex);
//   changed.wait(lock, [&] { return ready; });
//
// Source: Dolan 2013, sections 5.1 and 7.4 (the condvar benchmark).
#pragma once

#include "sennit/detail/sync/basic_condition_variable.hpp"
#include "sennit/local/mutex.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::condition_variable, with the same members and results, without atomic operations, for the
/// fibers of one local runtime at a time, with a sennit::local::mutex. By default waiters wake in the order
/// in which they came. To destroy it while a fiber waits is misuse, which is asserted.
class condition_variable final : public detail::basic_condition_variable<mutex> {
public:
  using basic_condition_variable::basic_condition_variable;
};

}  // namespace sennit::inline v0_1::local
