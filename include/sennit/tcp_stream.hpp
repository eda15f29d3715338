// sennit::tcp_stream: a TCP connection whose operations block only the calling fiber.
// room: io
//
//   auto stream = sennit::tcp_stream::connect("127.0.0.1", 6379);
//   stream.write_all("PING\r\n");
//   char reply[64];
//   std::size_t size = stream.read_some(reply);  // 0: end of stream
//
// Deadlines are steady-clock times. An operation that is not done by its deadline fails with
// std::errc::timed_out. With a deadline in the past, an operation is only an attempt. sennit::no_deadline
// means no deadline.
//
// Errors: each operation has a form that throws std::system_error and one that sets a std::error_code.
// Expect these codes, as std::errc:
//
//   timed_out                the deadline passed
//   device_or_resource_busy  another fiber is reading, or writing, in this stream; nothing was done
//   operation_canceled       the stream was closed, before the operation or during it
//   bad_file_descriptor      the stream was never open, or was moved to another object
//   connection_reset         the peer broke the connection
//   broken_pipe              the peer no longer reads (no SIGPIPE is ever raised)
//
// After timed_out and device_or_resource_busy the stream can still be used. After the other errors it
// cannot. Both forms throw sennit::cancelled if a stop_guard ends the wait; the stream is unchanged. The
// only exception is the error_code form of write_all().
//
// Fairness: after 64 reads and writes that found their socket ready, a fiber yields once.
//
// Source: RethinkDB, "Making coroutines fast" (blocking code at the speed of callbacks).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "sennit/detail/io/socket.hpp"
#include "sennit/detail/io/transfer_wait.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/no_deadline.hpp"

namespace sennit::inline v0_1 {

class tcp_listener;

/// A TCP connection. Move-only; the destructor closes it.
///
/// - One fiber at a time reads, and one, the same or another, writes. A second reader or writer gets
///   device_or_resource_busy at once, until the whole operation of the first has ended. Thus the bytes of
///   two write_all() never interleave.
/// - It may be moved while a fiber waits in it. Any fiber may close() it. It must not be destroyed while
///   another thread uses it.
/// - Operations that wait may be called only by fibers. With a sennit::runtime, its fibers may use the
///   stream on any worker: events arrive at the worker on which a fiber first waited for it, and follow the
///   fibers when they move. With a sennit::local::runtime, only the thread of that runtime may use it.
/// - It belongs to the runtime in which a fiber first waited for it. When that runtime is gone, it may be
///   used in another.
class tcp_stream {
public:
  /// A deadline, of the steady clock.
  using time_point = std::chrono::steady_clock::time_point;

  /// A stream that was never open: every operation fails with bad_file_descriptor.
  tcp_stream() = default;

  /// Connects to a host: an IPv4 or IPv6 address ("127.0.0.1", "::1", "fe80::1%eth0"), or a name.
  /// TCP_NODELAY is switched on.
  ///
  /// A name is looked up (look_up.hpp), and its addresses are tried in order. Each address may use an equal
  /// share of the time that is left: with three addresses and three seconds, the first gets one second. An
  /// address that fails early leaves its time to the others. The error is that of the last address. Without
  /// a deadline the kernel's own limit, about two minutes, ends each attempt.
  ///
  /// Codes: connection_refused, network_unreachable, timed_out, too_many_files_open and others, and those
  /// of lookup_category().
  static tcp_stream connect(std::string_view host, std::uint16_t port, time_point deadline = no_deadline) {
    tcp_stream stream;
    if (const std::error_code error = detail::socket_connect(host, port, deadline, stream.source_))
      detail::io_throw(error, "connect to", host, port);
    return stream;
  }
  /// Connects to a host. Sets `error` instead of throwing, and then returns a stream that is not open.
  static tcp_stream connect(std::string_view host, std::uint16_t port, std::error_code& error,
                            time_point deadline = no_deadline) {
    tcp_stream stream;
    error = detail::socket_connect(host, port, deadline, stream.source_);
    return stream;
  }

  /// Takes ownership of a connected stream socket of any family (TCP, or one end of a Unix socketpair), and
  /// makes it non-blocking. An unconnected socket is accepted; reads and writes then report not_connected.
  /// Does not wait, and may be called outside of fibers.
  ///
  /// If it fails, the caller still owns the descriptor, which remains open. Codes: bad_file_descriptor;
  /// not_a_socket (a pipe, a terminal or a file, for which there is sennit::readiness); wrong_protocol_type
  /// (a datagram or packet socket); invalid_argument (a listening socket).
  ///
  /// \throws std::bad_alloc if there is no memory
  static tcp_stream adopt(int descriptor);
  /// Takes ownership of a socket. Sets `error` instead of throwing `std::system_error`.
  static tcp_stream adopt(int descriptor, std::error_code& error);

  /// Reads the bytes that have arrived, at most as many as fit. Waits while there are none.
  ///
  /// \returns the number of bytes; 0 at the end of the stream, or if the buffer is empty
  std::size_t read_some(std::span<std::byte> to, time_point deadline = no_deadline) {
    return detail::io_count(detail::socket_read(source_.get(), to.data(), to.size(), deadline), "read");
  }
  /// Like read_some() into bytes.
  std::size_t read_some(std::span<char> to, time_point deadline = no_deadline) {
    return read_some(std::as_writable_bytes(to), deadline);
  }
  /// Like read_some(), but sets `error` instead of throwing, and then returns 0.
  std::size_t read_some(std::span<std::byte> to, std::error_code& error, time_point deadline = no_deadline) {
    return detail::io_count(detail::socket_read(source_.get(), to.data(), to.size(), deadline), error);
  }
  /// Like read_some(), but sets `error` instead of throwing, and then returns 0.
  std::size_t read_some(std::span<char> to, std::error_code& error, time_point deadline = no_deadline) {
    return read_some(std::as_writable_bytes(to), error, deadline);
  }

  /// Writes as many bytes as the kernel takes at once, at least one. Waits while it takes none.
  ///
  /// \returns the number of bytes
  std::size_t write_some(std::span<const std::byte> from, time_point deadline = no_deadline) {
    return detail::io_count(detail::socket_write(source_.get(), from.data(), from.size(), deadline), "write");
  }
  /// Like write_some() of bytes.
  std::size_t write_some(std::string_view from, time_point deadline = no_deadline) {
    return write_some(std::as_bytes(std::span(from)), deadline);
  }
  /// Like write_some(), but sets `error` instead of throwing, and then returns 0.
  std::size_t write_some(std::span<const std::byte> from, std::error_code& error,
                         time_point deadline = no_deadline) {
    return detail::io_count(detail::socket_write(source_.get(), from.data(), from.size(), deadline), error);
  }
  /// Like write_some(), but sets `error` instead of throwing, and then returns 0.
  std::size_t write_some(std::string_view from, std::error_code& error, time_point deadline = no_deadline) {
    return write_some(std::as_bytes(std::span(from)), error, deadline);
  }

  /// Writes all bytes. The deadline is for the whole. If it fails, some of the bytes may have been written.
  ///
  /// \throws sennit::write_error if it fails; it contains the number of bytes that were written
  ///   (write_error.hpp)
  /// \throws sennit::cancelled if a stop_guard or a scope ends the wait; the number of bytes is lost
  void write_all(std::span<const std::byte> from, time_point deadline = no_deadline) {
    std::size_t written;
    if (const int error =
            detail::socket_write_all(source_.get(), from.data(), from.size(), deadline, written);
        error != 0) [[unlikely]]
      detail::io_throw_written(-error, written);
  }
  /// Like write_all() of bytes.
  void write_all(std::string_view from, time_point deadline = no_deadline) {
    write_all(std::as_bytes(std::span(from)), deadline);
  }
  /// Like write_all(), but sets `error` instead of throwing. If a stop_guard or a scope ends the wait, it
  /// sets operation_canceled, and the caller's next wait throws.
  ///
  /// \returns the number of bytes that were written, however it ends
  std::size_t write_all(std::span<const std::byte> from, std::error_code& error,
                        time_point deadline = no_deadline) {
    std::size_t written;
    error = detail::socket_write_all_reported(source_.get(), from.data(), from.size(), deadline, written);
    return written;
  }
  /// Like write_all() of bytes with an error code.
  std::size_t write_all(std::string_view from, std::error_code& error, time_point deadline = no_deadline) {
    return write_all(std::as_bytes(std::span(from)), error, deadline);
  }

  /// Any form of write_some(), from a `std::span` of char.
  template <class Char, std::size_t Extent, class... More>
    requires std::same_as<std::remove_const_t<Char>, char>
  std::size_t write_some(std::span<Char, Extent> from, More&&... more) {
    return write_some(std::as_bytes(from), std::forward<More>(more)...);
  }
  /// Any form of write_all(), from a `std::span` of char.
  template <class Char, std::size_t Extent, class... More>
    requires std::same_as<std::remove_const_t<Char>, char>
  auto write_all(std::span<Char, Extent> from, More&&... more) {
    return write_all(std::as_bytes(from), std::forward<More>(more)...);
  }

  /// For become(): waits without a stack until a read would not wait. That is also so at the peer's end,
  /// after an error, if the stream is closed, and if another fiber reads in it; the read then reports that.
  /// The stream may be moved meanwhile, into the state of its fiber.
  auto reading() const noexcept { return detail::ready_wait<true>(source_.get()); }
  /// For become(): waits without a stack until a write would not wait. Otherwise like reading().
  auto writing() const noexcept { return detail::ready_wait<false>(source_.get()); }

  /// Like reading(), but gives up at a deadline. The function gets whether the stream was ready in time:
  /// `sennit::continuation serve(sennit::tcp_stream client, bool in_time);`. Such a wait allocates memory.
  auto reading_until(time_point deadline) const noexcept { return detail::timed_wait(reading(), deadline); }
  /// Like writing(), but gives up at a deadline. Otherwise like reading_until().
  auto writing_until(time_point deadline) const noexcept { return detail::timed_wait(writing(), deadline); }

  /// For become(): waits without a stack and then does what read_some(to) does. The thread that receives
  /// the event makes the transfer, and the fiber resumes when it is done: `sennit::continuation
  /// serve(session state, sennit::io_result got);`. If no wait is needed, or no other thread can make the
  /// transfer, the fiber makes it.
  ///
  /// The buffer must stay where it is meanwhile, and must not be destroyed. The stream may be moved, but
  /// not destroyed.
  auto reading_some(std::span<std::byte> to) const noexcept {
    return detail::transfer_wait<true>(source_.get(), to.data(), to.size());
  }
  /// Like reading_some() into bytes.
  auto reading_some(std::span<char> to) const noexcept { return reading_some(std::as_writable_bytes(to)); }
  /// For become(): waits without a stack and does what write_all(from) does. Otherwise like reading_some().
  auto writing_all(std::span<const std::byte> from) const noexcept {
    return detail::transfer_wait<false>(source_.get(), const_cast<std::byte*>(from.data()), from.size());
  }
  /// Like writing_all() of bytes.
  auto writing_all(std::string_view from) const noexcept {
    return writing_all(std::as_bytes(std::span(from)));
  }

  /// Sends the end of the stream to the peer, after the bytes that were written. The stream can still be
  /// read. Does not wait.
  void shutdown_write();
  /// Like shutdown_write(), but sets `error` instead of throwing.
  void shutdown_write(std::error_code& error) noexcept;

  /// Switches TCP_NODELAY. If it is off, small writes are delayed until the peer has confirmed earlier ones
  /// (Nagle's algorithm).
  void set_no_delay(bool on);
  /// Like set_no_delay(), but sets `error` instead of throwing.
  void set_no_delay(bool on, std::error_code& error) noexcept;

  /// Closes the stream. Bytes that were written are still sent. Fibers that wait in the stream get
  /// operation_canceled, and so does every later operation: a loop of reads or writes sees one code,
  /// wherever the close meets it. Does nothing if the stream is closed already. Does not wait.
  void close() noexcept { source_.close(); }

  /// Closes the stream, but returns its descriptor, which stays open and non-blocking and belongs to the
  /// caller, for example for a TLS library. No runtime watches the descriptor any more, so that it can be
  /// adopted again, or watched by sennit::readiness. Fibers that read or write in the stream get
  /// operation_canceled; release() returns when none of them uses the descriptor.
  ///
  /// \pre The caller is a fiber of the runtime in which fibers have waited for the stream, or that runtime
  ///   has ended.
  /// \returns the descriptor, or -1 if the stream was closed before
  int release() { return source_.release(); }

  /// \returns whether the stream has a socket: it was opened, and not closed, released or moved from
  bool is_open() const noexcept { return static_cast<bool>(source_); }

  /// The socket, or -1 if the stream is closed. Use it to set and to read options. To read or write it
  /// elsewhere can lose wake-ups.
  int native_handle() const noexcept { return source_.descriptor(); }

private:
  friend class tcp_listener;
  friend struct detail::source_access;

  detail::owned_source source_;
};

}  // namespace sennit::inline v0_1
