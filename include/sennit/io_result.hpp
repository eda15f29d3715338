// sennit::io_result: what has become of a transfer that was made without the fiber.
// room: io
#pragma once

#include <cstddef>
#include <system_error>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit {

struct io_result {
  std::size_t size = 0;   // bytes that were moved, in case of an error, too
  std::error_code error;  // as of the operation that blocks
};

}  // namespace sennit
