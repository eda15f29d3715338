// sennit::condition_variable: fibers and OS threads wait for each other.
// room: sync
//
//   sennit::mutex mutex;
//   sennit::condition_variable changed;
//   std::unique_lock lock(mutex);
//   changed.wait(lock, [&] { return ready; });
//
// Source: Dolan 2013, sections 5.1 and 7.4 (the condvar benchmark).
#pragma once

#include "sennit/detail/sync/basic_condition_variable.hpp"
#include "sennit/mutex.hpp"

namespace sennit::inline v0_1 {

/// Like `std::condition_variable`, for fibers and OS threads, with a sennit::mutex. A wait blocks only the
/// calling fiber. A fiber of a local runtime may use it, but blocks its thread. An owner may destroy the
/// object as soon as all waiters have been notified. Its members are those of
/// detail::basic_condition_variable.
class condition_variable final : public detail::basic_condition_variable<mutex> {
public:
  using basic_condition_variable::basic_condition_variable;
};

}  // namespace sennit::inline v0_1
