#include "sennit/tcp_stream.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace sennit::inline v0_1 {

tcp_stream tcp_stream::adopt(int descriptor) {
  std::error_code error;
  tcp_stream stream = adopt(descriptor, error);
  if (error)
    detail::io_throw(error.value(), "adopt a stream socket");
  return stream;
}

tcp_stream tcp_stream::adopt(int descriptor, std::error_code& error) {
  tcp_stream stream;
  const int result = detail::socket_prepare_stream(descriptor);
  error = detail::io_error(result);
  if (result == 0)  // not owned_source(descriptor), which closes it when there is no memory
    stream.source_ = detail::owned_source(detail::source_take(descriptor));
  return stream;
}

void tcp_stream::shutdown_write() {
  std::error_code error;
  shutdown_write(error);
  if (error)
    detail::io_throw(error.value(), "shut down writing");
}

void tcp_stream::shutdown_write(std::error_code& error) noexcept {
  error = detail::io_error(detail::with_descriptor(
      source_.get(), [](int socket) { return ::shutdown(socket, SHUT_WR) == 0 ? 0 : -errno; }));
}

void tcp_stream::set_no_delay(bool on) {
  std::error_code error;
  set_no_delay(on, error);
  if (error)
    detail::io_throw(error.value(), "set TCP_NODELAY");
}

void tcp_stream::set_no_delay(bool on, std::error_code& error) noexcept {
  error = detail::io_error(detail::with_descriptor(
      source_.get(), [on](int socket) { return detail::socket_no_delay(socket, on); }));
}

}  // namespace sennit::inline v0_1
