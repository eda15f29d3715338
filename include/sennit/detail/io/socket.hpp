// Sockets, with results as the kernel returns them: a count, or a negated errno. Functions here park at most
// the calling fiber; `deadline` as in source_wait. A null source was never open: -EBADF.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "sennit/detail/io/source.hpp"

namespace sennit::inline v0_1::detail {

ssize_t socket_read(io_source* source, void* to, std::size_t size, time_point deadline);
ssize_t socket_write(io_source* source, const void* from, std::size_t size, time_point deadline);
// Returns 0 or the error. `written` counts the bytes while they are written, so it is right however this
// ends.
int socket_write_all(io_source* source, const void* from, std::size_t size, time_point deadline,
                     std::size_t& written);
// Like socket_write_all(), but reports a stop as operation_canceled.
std::error_code socket_write_all_reported(io_source* source, const void* from, std::size_t size,
                                          time_point deadline, std::size_t& written);

// `host`: an address, or a name, which is looked up; its addresses are tried one after the other.
std::error_code socket_connect(std::string_view host, std::uint16_t port, time_point deadline,
                               owned_source& result);
// Numeric addresses only: -EINVAL for others.
int socket_listen(std::string_view address, std::uint16_t port, int backlog, owned_source& result);

int socket_no_delay(int descriptor, bool on) noexcept;
// Refuses descriptors that are no stream sockets, and makes the others non-blocking.
int socket_prepare_stream(int descriptor) noexcept;

// How results reach users: thrown, or by an error code.
[[noreturn, gnu::cold]] void io_throw(int error, const char* what);
[[noreturn, gnu::cold]] void io_throw_written(int error, std::size_t written);  // a write_error
[[noreturn, gnu::cold]] void io_throw(std::error_code error, const char* what, std::string_view host,
                                      std::uint16_t port);

inline std::error_code io_error(ssize_t negated) noexcept {
  return {static_cast<int>(-negated), std::generic_category()};
}

inline std::size_t io_count(ssize_t result, const char* what) {
  if (result < 0) [[unlikely]]
    io_throw(static_cast<int>(-result), what);
  return static_cast<std::size_t>(result);
}

inline std::size_t io_count(ssize_t result, std::error_code& error) noexcept {
  if (result < 0) [[unlikely]] {
    error = io_error(result);
    return 0;
  }
  error.clear();
  return static_cast<std::size_t>(result);
}

}  // namespace sennit::inline v0_1::detail
