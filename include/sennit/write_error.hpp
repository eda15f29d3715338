// sennit::write_error: what write_all() throws, with the number of bytes that were written before it
// failed.
// room: io
//
//   try {
//     stream.write_all(message, deadline);
//   } catch (const sennit::write_error& error) {
//     message.remove_prefix(error.written());  // error.code() is the cause
//   }
#pragma once

#include <cstddef>
#include <system_error>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit::inline v0_1 {

/// The error of a tcp_stream::write_all() or file::write_all().
class write_error : public std::system_error {
public:
  /// `code` is the cause, `what` the text before its description, and `written` a number of bytes.
  write_error(std::error_code code, const char* what, std::size_t written)
      : std::system_error(code, what), written_(written) {}

  /// \returns the number of bytes that were written before the operation failed
  std::size_t written() const noexcept { return written_; }

private:
  std::size_t written_;
};

}  // namespace sennit::inline v0_1
