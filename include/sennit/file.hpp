// sennit::file: a file whose operations block the calling fiber only.
// room: io
//
//   auto log = sennit::file::open("log.txt", O_WRONLY | O_CREAT | O_APPEND);
//   log.write_all("started\n");
//
// The kernel has no readiness for files: each operation is a system call on a thread of the pool (see
// sennit::offload, also for what happens when the pool is busy or the runtime ends). Outside of a fiber it is
// made on the spot. Errors: the operation throws std::system_error, or sets the std::error_code it is given.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit {

// Move-only; the destructor closes (on the spot: a file on a slow network is better closed by close()).
// Fibers may use one file at the same time; those operations without an offset share the file's position, and
// which of them comes first is not said.
class file {
public:
  // Closed. Every operation fails with bad_file_descriptor.
  file() = default;
  file(file&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  // `other` is closed afterwards, and so is the file that this was.
  file& operator=(file&& other) noexcept {
    file taken(std::move(other));
    std::swap(descriptor_, taken.descriptor_);
    return *this;
  }
  ~file();

  // Flags and mode as open(2); the file is not passed on to programs that are executed (O_CLOEXEC).
  static file open(const std::string& path, int flags = O_RDONLY, mode_t mode = 0666);
  static file open(const std::string& path, std::error_code& error, int flags = O_RDONLY, mode_t mode = 0666);

  // Reads at most what fits. Returns how many bytes; 0: the end of the file (or no room). With an offset,
  // from there, in bytes; else from the file's position, which moves.
  std::size_t read_some(std::span<char> to);
  std::size_t read_some(std::span<char> to, std::error_code& error);
  std::size_t read_some_at(std::uint64_t offset, std::span<char> to);
  std::size_t read_some_at(std::uint64_t offset, std::span<char> to, std::error_code& error);

  // Writes all of it. When it fails, some may have been written. The error_code form returns how many bytes,
  // also where a stop_guard ends the wait, which it reports as operation_canceled. The other form throws
  // sennit::write_error, which has the count, or sennit::cancelled.
  void write_all(std::string_view from);
  std::size_t write_all(std::string_view from, std::error_code& error);
  void write_all_at(std::uint64_t offset, std::string_view from);
  std::size_t write_all_at(std::uint64_t offset, std::string_view from, std::error_code& error);

  // The rest of the file, from its position. Throws std::bad_alloc, too.
  std::string read_all();

  // Bytes.
  std::uint64_t size();
  std::uint64_t size(std::error_code& error);

  // Returns when what was written is on the medium (fsync).
  void sync();
  void sync(std::error_code& error);

  // The file is closed even when this fails: then what was written may be lost.
  void close();
  void close(std::error_code& error);

  bool is_open() const noexcept { return descriptor_ >= 0; }
  int native_handle() const noexcept { return descriptor_; }

private:
  explicit file(int descriptor) noexcept : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace sennit
