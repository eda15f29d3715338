// sennit::tcp_listener: waits for TCP connections.
// room: io
//
//   sennit::tcp_listener listener("127.0.0.1", 0);  // the kernel chooses a port
//   std::printf("port %u\n", unsigned{listener.port()});
//   for (;;)
//     sennit::spawn([stream = listener.accept()]() mutable { serve(stream); }).detach();
//
// Those fibers begin at the worker that accepts, and move if idle workers steal them. To spread connections
// over the workers from the beginning, spawn the fibers with {.near = number++} (fiber.hpp): each begins at
// the next worker, and after the last one at the first again.
//
// Deadlines and the two forms of each operation: as in tcp_stream.hpp.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string_view>
#include <system_error>

#include "sennit/detail/arch/owner.hpp"
#include "sennit/detail/io/listener.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/no_deadline.hpp"
#include "sennit/tcp_stream.hpp"

namespace sennit::inline v0_1 {

/// A listening TCP socket. Move-only; the destructor closes it. One fiber at a time may accept. It may be
/// made outside of a runtime. The rules about threads and runtimes are those of tcp_stream.
class tcp_listener {
public:
  /// A deadline, of the steady clock.
  using time_point = std::chrono::steady_clock::time_point;

  /// A closed listener.
  tcp_listener() = default;

  /// Binds to an address and a port with SO_REUSEADDR, and listens. Does not wait.
  ///
  /// The address is numeric: "0.0.0.0" means every IPv4 address, and "::" every IPv4 and IPv6 address. With
  /// port 0 the kernel chooses one. `backlog` is the maximum number of connections that wait for accept();
  /// the kernel may allow fewer.
  ///
  /// Codes: address_in_use, address_not_available, permission_denied, invalid_argument (not a numeric
  /// address), too_many_files_open (two file descriptors are needed).
  tcp_listener(std::string_view address, std::uint16_t port, int backlog = SOMAXCONN);
  /// Like the constructor, but sets `error` instead of throwing, and then returns a closed listener.
  static tcp_listener listen(std::string_view address, std::uint16_t port, std::error_code& error,
                             int backlog = SOMAXCONN);

  /// Waits for a connection and returns it, with TCP_NODELAY switched on. Connections that the peer broke
  /// before are skipped.
  ///
  /// If the process or the system has no file descriptor left, accept() does not fail. It closes a reserve
  /// descriptor for a moment, takes the connection that has waited longest, and closes that, so that the
  /// peer notices at once. If this fails, because another thread was quicker or the kernel has no memory,
  /// it tries again after 50 ms or at the next connection. refused() counts these connections.
  ///
  /// Codes: timed_out; operation_canceled (the listener was closed, before or during the call);
  /// bad_file_descriptor (it was never open); device_or_resource_busy (another fiber accepts).
  tcp_stream accept(time_point deadline = no_deadline);
  /// Like accept(), but sets `error` instead of throwing, and then returns a stream that is not open.
  tcp_stream accept(std::error_code& error, time_point deadline = no_deadline);

  /// For become(): waits without a stack until there is a connection, or accept() would fail at once.
  auto accepting() const noexcept {
    return detail::ready_wait<true>(listener_ ? listener_->source.get() : nullptr);
  }
  /// Like accepting(), but gives up at a deadline. The function gets whether it was in time.
  auto accepting_until(time_point deadline) const noexcept {
    return detail::timed_wait(accepting(), deadline);
  }

  /// \returns the number of connections that were closed because no file descriptor was left
  std::uint64_t refused() const noexcept { return listener_ ? listener_->refused.load() : 0; }

  /// \returns the port at which it listens; 0 if it is closed
  std::uint16_t port() const noexcept { return is_open() ? detail::listener_port(*listener_) : 0; }

  /// Closes the listener. A fiber in accept() gets operation_canceled, and so does every later accept().
  /// Does nothing if the listener is closed already. Does not wait.
  void close() noexcept {
    if (listener_)
      listener_->source.close();
  }
  /// \returns whether it listens
  bool is_open() const noexcept { return listener_ && listener_->source; }

  /// The socket, or -1 if the listener is closed. Use it to set and to read options.
  int native_handle() const noexcept { return listener_ ? listener_->source.descriptor() : -1; }

private:
  friend struct detail::source_access;
  detail::owner<detail::listener> listener_;
};

}  // namespace sennit::inline v0_1
