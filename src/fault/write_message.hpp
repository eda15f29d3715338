// Writes the text of a report to a descriptor, without a buffer. Async-signal-safe.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

namespace sennit::inline v0_1::detail {

// Writes all of it, unless a write fails or writes nothing. An interrupted write is repeated.
inline void write_message(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count > 0)
      text.remove_prefix(static_cast<std::size_t>(count));
    else if (count == 0 || errno != EINTR)
      return;
  }
}

}  // namespace sennit::inline v0_1::detail
