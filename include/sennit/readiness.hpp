// sennit::readiness: waits until a file descriptor that another library owns can be read or written.
// room: io
//
//   sennit::readiness ready(PQsocket(connection));  // the library does the I/O itself
//   while (PQisBusy(connection)) {
//     ready.wait_readable();
//     PQconsumeInput(connection);
//   }
#pragma once

#include <system_error>

#include "sennit/detail/io/ready_wait.hpp"
#include "sennit/detail/io/source.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/no_deadline.hpp"

namespace sennit::inline v0_1 {

/// Watches a file descriptor without owning it. The descriptor must stay open until the object is
/// destroyed. It must be non-blocking if its owner must not block the thread.
///
/// - One fiber may wait for the descriptor to become readable while another waits for it to become
///   writable.
/// - It is neither copied nor moved. A fiber of the runtime in which it was waited for destroys it, or any
///   thread after that runtime has ended. The other rules about threads and runtimes are those of
///   tcp_stream.
/// - Several objects may watch one descriptor: other readiness objects, and a stream that has waited for
///   it, as with a TLS library that works on the stream's native_handle(). Each object except the first
///   then opens a duplicate of the descriptor, which its destructor closes.
class readiness {
public:
  /// A deadline, of the steady clock.
  using time_point = std::chrono::steady_clock::time_point;

  /// Prepares to watch a descriptor. Nothing is checked yet.
  ///
  /// \throws std::bad_alloc if there is no memory
  explicit readiness(int descriptor)
      : source_(detail::source_take(descriptor, true)), descriptor_(descriptor) {}
  readiness(const readiness&) = delete;
  readiness& operator=(const readiness&) = delete;

  /// Waits until a read would not block. That is also so at the peer's end or after an error. It may return
  /// too early, so that the I/O must be prepared for EAGAIN. For what is always ready, such as a regular
  /// file, it returns at once. It costs a system call, and another if it has to wait.
  ///
  /// Codes: timed_out; device_or_resource_busy (another fiber waits for the same direction of this object);
  /// operation_canceled (another fiber destroyed the object); bad_file_descriptor; too_many_files_open (no
  /// descriptor is left for a duplicate); not_enough_memory, no_space_on_device (the system's limit of
  /// watched descriptors).
  ///
  /// \throws std::system_error with one of these codes
  /// \throws sennit::cancelled if a stop_guard ends the wait
  void wait_readable(time_point deadline = no_deadline);
  /// Like wait_readable(), but sets `error` instead of throwing `std::system_error`.
  void wait_readable(std::error_code& error, time_point deadline = no_deadline);
  /// Waits until a write would not block. Otherwise like wait_readable().
  void wait_writable(time_point deadline = no_deadline);
  /// Like wait_writable(), but sets `error` instead of throwing `std::system_error`.
  void wait_writable(std::error_code& error, time_point deadline = no_deadline);

  /// For become(): waits without a stack until a read would not block. It costs two system calls. What
  /// cannot be watched is ready at once; wait_readable() then reports why.
  auto reading() const noexcept { return detail::ready_wait<true>(source_.get()); }
  /// For become(): waits without a stack until a write would not block. Otherwise like reading().
  auto writing() const noexcept { return detail::ready_wait<false>(source_.get()); }
  /// Like reading(), but gives up at a deadline. The function gets whether the descriptor was ready in
  /// time.
  auto reading_until(time_point deadline) const noexcept { return detail::timed_wait(reading(), deadline); }
  /// Like writing(), but gives up at a deadline. The function gets whether the descriptor was ready in
  /// time.
  auto writing_until(time_point deadline) const noexcept { return detail::timed_wait(writing(), deadline); }

  /// The descriptor that was passed to the constructor.
  int native_handle() const noexcept { return descriptor_; }

private:
  friend struct detail::source_access;
  detail::owned_source source_;
  int descriptor_;
};

}  // namespace sennit::inline v0_1
