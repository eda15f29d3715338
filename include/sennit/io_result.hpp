// sennit::io_result: the result of a transfer that was made for a fiber.
// room: io
#pragma once

#include <cstddef>
#include <system_error>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit::inline v0_1 {

/// The result of a transfer without a stack (tcp_stream::reading_some()) or an asynchronous one
/// (async_io.hpp).
struct io_result {
  /// The number of bytes that were transferred, also after an error.
  std::size_t size = 0;
  /// The error, as of the operation that blocks; none if it succeeded.
  std::error_code error;
};

}  // namespace sennit::inline v0_1
