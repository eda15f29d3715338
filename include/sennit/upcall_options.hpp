// sennit::upcall_options: how large a pool for upcalls is.
// room: rpc
#pragma once

#include <cstddef>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit {

struct upcall_options {
  unsigned fibers = 4;        // that call handlers: so many may be in one, or wait in it, at a time
  std::size_t events = 1024;  // that wait for one of them, at most
};

}  // namespace sennit
