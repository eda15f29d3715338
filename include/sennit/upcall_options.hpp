// sennit::upcall_options: the size of an upcall_pool.
// room: rpc
#pragma once

#include <cstddef>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit::inline v0_1 {

/// The size of an upcall_pool.
struct upcall_options {
  /// The number of fibers, at least 1: so many handlers can run or wait at a time.
  unsigned fibers = 4;
  /// The maximum number of events that are queued while all fibers are busy.
  std::size_t events = 1024;
};

}  // namespace sennit::inline v0_1
