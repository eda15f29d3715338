// sennit::tcp_listener: waits for TCP connections.
// room: io
//
//   sennit::tcp_listener listener("127.0.0.1", 0);  // the kernel chooses a port
//   std::printf("port %u\n", unsigned{listener.port()});
//   for (;;)
//     sennit::spawn([stream = listener.accept()]() mutable { serve(stream); }).detach();
//
// Those fibers begin at the worker that accepts, and move where idle workers take them. To spread
// connections over the workers from the beginning, spawn them with {.near = number++} (fiber.hpp): each at
// the next worker, and after the last at the first again.
//
// Deadlines and the two forms of each operation: as in tcp_stream.hpp.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <system_error>

#include "sennit/detail/io/listener.hpp"
#include "sennit/no_deadline.hpp"
#include "sennit/tcp_stream.hpp"

namespace sennit {

// Move-only; the destructor closes. One fiber at a time accepts. It may be made outside of a runtime.
// Threads and runtimes: as tcp_stream.
class tcp_listener {
public:
  using time_point = std::chrono::steady_clock::time_point;

  // Closed.
  tcp_listener() = default;

  // Binds to a numeric address ("0.0.0.0": every IPv4 one; "::": those of IPv4 and IPv6) and a port (0: the
  // kernel chooses) with SO_REUSEADDR, and listens; `backlog`: how many connections wait for accept at most
  // (the kernel may allow fewer). Codes: address_in_use, address_not_available, permission_denied,
  // invalid_argument (not a numeric address), too_many_files_open: two file descriptors are needed.
  tcp_listener(std::string_view address, std::uint16_t port, int backlog = SOMAXCONN);
  static tcp_listener listen(std::string_view address, std::uint16_t port, std::error_code& error,
                             int backlog = SOMAXCONN);

  // Waits for a connection. TCP_NODELAY is on. Connections that broke off before are passed over.
  //
  // When the process or the system has no file descriptor left, accept does not fail: it gives up a reserve
  // descriptor for a moment, with which it takes the connection that waits longest and closes it, so that the
  // peer learns of it at once and the queue moves. If even that fails, for another thread was quicker, or for
  // want of kernel memory, it tries again after 50 ms or at the next connection. refused() tells how often
  // that happened. Codes: timed_out; operation_canceled (the listener was closed, before or during the
  // call); bad_file_descriptor (it was never open); device_or_resource_busy (another fiber accepts).
  tcp_stream accept(time_point deadline = no_deadline);
  tcp_stream accept(std::error_code& error, time_point deadline = no_deadline);

  // For become(): to wait without a stack until there is a connection, or accept would fail at once.
  auto accepting() const noexcept {
    return detail::ready_wait<true>(listener_ != nullptr ? listener_->source.get() : nullptr);
  }
  // The same until a deadline; the function gets whether it was in time.
  auto accepting_until(time_point deadline) const noexcept {
    return detail::timed_wait(accepting(), deadline);
  }

  // Connections that were closed unserved for want of a file descriptor.
  std::uint64_t refused() const noexcept { return listener_ != nullptr ? listener_->refused.load() : 0; }

  // The port it listens at; 0: closed.
  std::uint16_t port() const noexcept { return is_open() ? detail::listener_port(*listener_) : 0; }

  // A fiber that runs or waits in accept gets operation_canceled, and so does every later accept. Does
  // nothing to a closed listener.
  void close() noexcept {
    if (listener_ != nullptr)
      listener_->source.close();
  }
  bool is_open() const noexcept { return listener_ != nullptr && listener_->source; }

  // The socket; -1: closed. For options and looking.
  int native_handle() const noexcept { return listener_ != nullptr ? listener_->source.descriptor() : -1; }

private:
  friend struct detail::source_access;
  std::unique_ptr<detail::listener> listener_;
};

}  // namespace sennit
