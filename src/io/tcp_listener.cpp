#include "sennit/tcp_listener.hpp"

#include "sennit/detail/io/socket.hpp"

namespace sennit::inline v0_1 {

tcp_listener::tcp_listener(std::string_view address, std::uint16_t port, int backlog) {
  if (const int error = detail::listener_open(address, port, backlog, listener_); error != 0)
    detail::io_throw(detail::io_error(error), "listen at", address, port);
}

tcp_listener tcp_listener::listen(std::string_view address, std::uint16_t port, std::error_code& error,
                                  int backlog) {
  tcp_listener made;
  error = detail::io_error(detail::listener_open(address, port, backlog, made.listener_));
  return made;
}

tcp_stream tcp_listener::accept(time_point deadline) {
  std::error_code error;
  tcp_stream stream = accept(error, deadline);
  if (error)
    detail::io_throw(error.value(), "accept");
  return stream;
}

tcp_stream tcp_listener::accept(std::error_code& error, time_point deadline) {
  tcp_stream stream;
  if (is_open())  // the memory first: no connection is lost for want of it
    stream.source_ = detail::owned_source(detail::source_take(-1));
  const int got = detail::listener_accept(listener_.get(), deadline);
  if (got >= 0)
    stream.source_.get()->descriptor.store(got, std::memory_order_relaxed);
  else
    stream.source_ = {};
  error = detail::io_error(got < 0 ? got : 0);
  return stream;
}

}  // namespace sennit::inline v0_1
