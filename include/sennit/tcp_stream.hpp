// sennit::tcp_stream: a TCP connection whose operations block the calling fiber only.
// room: io
//
//   auto stream = sennit::tcp_stream::connect("127.0.0.1", 6379);
//   stream.write_all("PING\r\n");
//   char reply[64];
//   std::size_t size = stream.read_some(reply);  // 0: end of stream
//
// Deadlines are steady-clock times. An operation that cannot be done by then fails with std::errc::timed_out.
// A deadline in the past makes an operation a mere attempt. sennit::no_deadline means no deadline.
//
// Errors: each operation has a form that throws std::system_error and one that sets a std::error_code. Expect
// these codes, as std::errc:
//
//   timed_out                the deadline passed
//   device_or_resource_busy  another fiber is reading, or writing, in this stream; nothing was done
//   operation_canceled       the stream was closed, before the operation or during it
//   bad_file_descriptor      the stream was never open, or was moved to another object
//   connection_reset         the peer broke off
//   broken_pipe              the peer no longer reads (no SIGPIPE is ever raised)
//
// After timed_out and device_or_resource_busy the stream can still be used; after the others it cannot. Both
// forms throw sennit::cancelled where a stop_guard ends the wait; the stream stays as it was. The exception
// is the error_code form of write_all().
//
// Fairness: after 64 reads and writes that found their socket ready, a fiber gives way to the others once.
//
// Source: RethinkDB, "Making coroutines fast" (blocking code at the speed of callbacks).
#pragma once

#include <chrono>
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
#include "sennit/no_deadline.hpp"

namespace sennit {

class tcp_listener;

// Move-only; the destructor closes. One fiber at a time reads, and one, the same or another, writes. A second
// reader or writer gets device_or_resource_busy at once, until the whole operation of the first has ended; so
// the bytes of two write_all() never interleave. A stream may be moved while a fiber waits in it. Any fiber
// may close() it; it is not destroyed while another thread uses it.
//
//   sennit::runtime         Its fibers use it on whichever worker they are. Events come to the worker on
//                           which a fiber first waited for it, and follow its fibers when they have moved.
//   sennit::local::runtime  It is used on the thread of that runtime.
//
// It belongs to the runtime in which a fiber first waited for it; when that is gone, it may be used in
// another one.
class tcp_stream {
public:
  using time_point = std::chrono::steady_clock::time_point;

  // Never open: every operation fails with bad_file_descriptor.
  tcp_stream() = default;

  // Connects to an address, IPv4 or IPv6 ("::1", "fe80::1%eth0"), or to a host by its name. TCP_NODELAY is
  // on.
  //
  // A name is looked up (look_up.hpp), and its addresses are tried in order. Each address may use an equal
  // share of the time that is left: with three addresses and three seconds, the first gets one second.
  // An address that fails early leaves its time to the others. The error is that of the last address. Without
  // a deadline the kernel's own limit, about two minutes, ends each attempt.
  //
  // Codes: connection_refused, network_unreachable, timed_out, too_many_files_open, ..., and those of
  // lookup_category.
  static tcp_stream connect(std::string_view host, std::uint16_t port, time_point deadline = no_deadline) {
    tcp_stream stream;
    if (const std::error_code error = detail::socket_connect(host, port, deadline, stream.source_))
      detail::io_throw(error, "connect to", host, port);
    return stream;
  }
  static tcp_stream connect(std::string_view host, std::uint16_t port, std::error_code& error,
                            time_point deadline = no_deadline) {
    tcp_stream stream;
    error = detail::socket_connect(host, port, deadline, stream.source_);
    return stream;
  }

  // Takes ownership of a connected stream socket of any family (TCP, or one end of a Unix socketpair), and
  // makes it non-blocking. If this fails, the descriptor remains open and the caller still owns it. Codes:
  // bad_file_descriptor; not_a_socket (a pipe, a terminal, a file: use sennit::readiness for those);
  // wrong_protocol_type (a datagram or packet socket); invalid_argument (a listening socket). An unconnected
  // socket is accepted, and reads and writes report not_connected. Throws std::bad_alloc.
  static tcp_stream adopt(int descriptor);
  static tcp_stream adopt(int descriptor, std::error_code& error);

  // Reads what has come, at least one byte, at most what fits; waits while there is nothing. Returns how
  // many bytes; 0: the peer has ended its stream (or the buffer is empty).
  std::size_t read_some(std::span<std::byte> to, time_point deadline = no_deadline) {
    return detail::io_count(detail::socket_read(source_.get(), to.data(), to.size(), deadline), "read");
  }
  std::size_t read_some(std::span<char> to, time_point deadline = no_deadline) {
    return read_some(std::as_writable_bytes(to), deadline);
  }
  std::size_t read_some(std::span<std::byte> to, std::error_code& error, time_point deadline = no_deadline) {
    return detail::io_count(detail::socket_read(source_.get(), to.data(), to.size(), deadline), error);
  }
  std::size_t read_some(std::span<char> to, std::error_code& error, time_point deadline = no_deadline) {
    return read_some(std::as_writable_bytes(to), error, deadline);
  }

  // Writes what the kernel takes at once, at least one byte; waits while it takes none. Returns how many
  // bytes.
  std::size_t write_some(std::span<const std::byte> from, time_point deadline = no_deadline) {
    return detail::io_count(detail::socket_write(source_.get(), from.data(), from.size(), deadline), "write");
  }
  std::size_t write_some(std::string_view from, time_point deadline = no_deadline) {
    return write_some(std::as_bytes(std::span(from)), deadline);
  }
  std::size_t write_some(std::span<const std::byte> from, std::error_code& error,
                         time_point deadline = no_deadline) {
    return detail::io_count(detail::socket_write(source_.get(), from.data(), from.size(), deadline), error);
  }
  std::size_t write_some(std::string_view from, std::error_code& error, time_point deadline = no_deadline) {
    return write_some(std::as_bytes(std::span(from)), error, deadline);
  }

  // Writes all of it; the deadline is for the whole. When it fails, some may have been written. The
  // error_code form returns how many bytes, however it ends. Where a stop_guard or a scope ends the wait, it
  // reports operation_canceled, and the caller's next wait throws. The other form throws sennit::write_error,
  // which has the count (write_error.hpp), or sennit::cancelled, which does not.
  void write_all(std::span<const std::byte> from, time_point deadline = no_deadline) {
    std::size_t written;
    if (const int error =
            detail::socket_write_all(source_.get(), from.data(), from.size(), deadline, written);
        error != 0) [[unlikely]]
      detail::io_throw_written(-error, written);
  }
  void write_all(std::string_view from, time_point deadline = no_deadline) {
    write_all(std::as_bytes(std::span(from)), deadline);
  }
  std::size_t write_all(std::span<const std::byte> from, std::error_code& error,
                        time_point deadline = no_deadline) {
    std::size_t written;
    error = detail::socket_write_all_reported(source_.get(), from.data(), from.size(), deadline, written);
    return written;
  }
  std::size_t write_all(std::string_view from, std::error_code& error, time_point deadline = no_deadline) {
    return write_all(std::as_bytes(std::span(from)), error, deadline);
  }

  // The same from a std::span of char.
  template <class Char, std::size_t Extent, class... More>
    requires std::same_as<std::remove_const_t<Char>, char>
  std::size_t write_some(std::span<Char, Extent> from, More&&... more) {
    return write_some(std::as_bytes(from), std::forward<More>(more)...);
  }
  template <class Char, std::size_t Extent, class... More>
    requires std::same_as<std::remove_const_t<Char>, char>
  auto write_all(std::span<Char, Extent> from, More&&... more) {
    return write_all(std::as_bytes(from), std::forward<More>(more)...);
  }

  // For become(): to wait without a stack until a read, or a write, would not have to wait; also because of
  // the peer's end or an error, or because the stream is closed or another fiber uses it in this direction.
  // The read or write then reports that. The stream may be moved meanwhile, into the state of its fiber.
  auto reading() const noexcept { return detail::ready_wait<true>(source_.get()); }
  auto writing() const noexcept { return detail::ready_wait<false>(source_.get()); }

  // The same until a deadline. The function that goes on is told whether it was ready in time:
  //
  //   sennit::continuation serve(sennit::tcp_stream client, bool in_time);
  //
  // Such a wait lies in memory that is allocated.
  auto reading_until(time_point deadline) const noexcept { return detail::timed_wait(reading(), deadline); }
  auto writing_until(time_point deadline) const noexcept { return detail::timed_wait(writing(), deadline); }

  // The same, and the transfer, too: read_some(to), or write_all(from). Who brings the event makes it, in the
  // fiber's place, which goes on when that is done:
  //
  //   sennit::continuation serve(session state, sennit::io_result got);
  //
  // (Where it need not wait, or nobody could do it, the fiber does it.) What is read into, or written, stays
  // where it is meanwhile, and so does the stream, or it is moved: none of them is destroyed.
  auto reading_some(std::span<std::byte> to) const noexcept {
    return detail::transfer_wait<true>(source_.get(), to.data(), to.size());
  }
  auto reading_some(std::span<char> to) const noexcept { return reading_some(std::as_writable_bytes(to)); }
  auto writing_all(std::span<const std::byte> from) const noexcept {
    return detail::transfer_wait<false>(source_.get(), const_cast<std::byte*>(from.data()), from.size());
  }
  auto writing_all(std::string_view from) const noexcept {
    return writing_all(std::as_bytes(std::span(from)));
  }

  // Tells the peer that no more will be written; it reads to the end. Reading goes on.
  void shutdown_write();
  void shutdown_write(std::error_code& error) noexcept;

  // Off: small writes wait until the peer has confirmed those before (Nagle).
  void set_no_delay(bool on);
  void set_no_delay(bool on, std::error_code& error) noexcept;

  // Closes; what was written still goes out. Fibers that wait in this stream get operation_canceled, and so
  // does every later operation: a loop of reads or writes sees one code, wherever the close meets it. Does
  // nothing to a closed stream.
  void close() noexcept { source_.close(); }

  // Gives the socket back to the caller, e.g. for a TLS library: closes the stream, but returns its
  // descriptor, which stays open and non-blocking. No runtime watches it any more, so that it can be adopted
  // again, or watched by sennit::readiness. Fibers that read or write in the stream get operation_canceled;
  // release() returns when none of them uses the descriptor. Returns -1 if the stream was closed before.
  //
  // Call it in a fiber of the runtime in which fibers have waited for the stream, or when that has ended.
  int release() { return source_.release(); }

  bool is_open() const noexcept { return static_cast<bool>(source_); }

  // The socket; -1: closed. For options and looking: reading or writing it elsewhere can lose wake-ups.
  int native_handle() const noexcept { return source_.descriptor(); }

private:
  friend class tcp_listener;
  friend struct detail::source_access;

  detail::owned_source source_;
};

}  // namespace sennit
