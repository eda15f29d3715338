// sennit::readiness: waits until a file descriptor of somebody else's can be read or written.
// room: io
//
//   sennit::readiness ready(PQsocket(connection));  // the library does the I/O itself
//   while (PQisBusy(connection)) {
//     ready.wait_readable();
//     PQconsumeInput(connection);
//   }
//
#pragma once

#include <chrono>
#include <system_error>

#include "sennit/detail/io/ready_wait.hpp"
#include "sennit/detail/io/source.hpp"
#include "sennit/no_deadline.hpp"

namespace sennit {

// Watches a file descriptor without owning it: it must stay open until the object is gone, and be
// non-blocking if its owner must not block the thread. One fiber may wait for it to become readable while
// another waits for writable. Neither copied nor moved; destroyed by a fiber of the runtime in which it was
// waited for, or after that runtime. Threads and runtimes: as tcp_stream.
//
// Several objects may watch one descriptor: other readiness objects, and a stream that has waited for it, as
// with a TLS library that works on the stream's native_handle(). Every object but the first then takes a
// descriptor of its own, a duplicate, which it closes when it is destroyed.
class readiness {
public:
  using time_point = std::chrono::steady_clock::time_point;

  // Throws std::bad_alloc.
  explicit readiness(int descriptor)
      : source_(detail::source_take(descriptor, true)), descriptor_(descriptor) {}
  readiness(const readiness&) = delete;
  readiness& operator=(const readiness&) = delete;

  // Waits until a read or a write would not block: also because of its peer's end or an error. It may return
  // too early, so the I/O must be prepared for EAGAIN. What is always ready, like a regular file, is at once.
  // Codes: timed_out; device_or_resource_busy (another fiber waits for the same direction in this object);
  // operation_canceled (another fiber destroyed the object); bad_file_descriptor; too_many_files_open (no
  // descriptor is left for a duplicate); not_enough_memory, no_space_on_device (the system's limit of watched
  // descriptors). Costs a system call, and one to wait.
  void wait_readable(time_point deadline = no_deadline);
  void wait_readable(std::error_code& error, time_point deadline = no_deadline);
  void wait_writable(time_point deadline = no_deadline);
  void wait_writable(std::error_code& error, time_point deadline = no_deadline);

  // For become(): to wait without a stack until a read, or a write, would not block. Costs two system calls.
  // What cannot be watched is ready at once; wait_readable() says why.
  auto reading() const noexcept { return detail::ready_wait<true>(source_.get()); }
  auto writing() const noexcept { return detail::ready_wait<false>(source_.get()); }
  // The same until a deadline; the function gets whether it was ready in time.
  auto reading_until(time_point deadline) const noexcept { return detail::timed_wait(reading(), deadline); }
  auto writing_until(time_point deadline) const noexcept { return detail::timed_wait(writing(), deadline); }

  int native_handle() const noexcept { return descriptor_; }

private:
  friend struct detail::source_access;
  detail::owned_source source_;
  int descriptor_;
};

}  // namespace sennit
