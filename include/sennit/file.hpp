// sennit::file: a file whose operations block only the calling fiber.
// room: io
//
//   auto log = sennit::file::open("log.txt", O_WRONLY | O_CREAT | O_APPEND);
//   log.write_all("started\n");
//
// The kernel has no readiness for files: each operation is a system call on a thread of a pool.
// sennit::offload describes the pool, also what happens when it is busy or the runtime ends. Outside of
// fibers the call is made directly. Errors: an operation throws std::system_error, or sets the
// std::error_code that it is given.
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

namespace sennit::inline v0_1 {

/// An open file. Move-only; the destructor closes it. Several fibers may use one file at the same time.
/// Operations without an offset share the file's position, and their order is unspecified.
class file {
public:
  /// A closed file. Every operation fails with bad_file_descriptor.
  file() = default;
  /// Takes the descriptor over from `other`, which is closed afterwards.
  file(file&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  /// Takes the descriptor over from `other`, which is closed afterwards. The file that was open here is
  /// closed.
  file& operator=(file&& other) noexcept {
    file taken(std::move(other));
    std::swap(descriptor_, taken.descriptor_);
    return *this;
  }
  /// Closes the file in the calling thread, which it may block. Call close() for a file on a slow network.
  ~file();

  /// Opens a file with the flags and the mode of open(2), and with O_CLOEXEC.
  static file open(const std::string& path, int flags = O_RDONLY, mode_t mode = 0666);
  /// Like open(), but sets `error` instead of throwing, and then returns a closed file.
  static file open(const std::string& path, std::error_code& error, int flags = O_RDONLY, mode_t mode = 0666);

  /// Reads from the file's position, which moves, at most as many bytes as fit.
  ///
  /// \returns the number of bytes; 0 at the end of the file, or if the buffer is empty
  std::size_t read_some(std::span<char> to);
  /// Like read_some(), but sets `error` instead of throwing, and then returns 0.
  std::size_t read_some(std::span<char> to, std::error_code& error);
  /// Like read_some(), but from an offset in bytes. The file's position does not move.
  std::size_t read_some_at(std::uint64_t offset, std::span<char> to);
  /// Like read_some_at(), but sets `error` instead of throwing, and then returns 0.
  std::size_t read_some_at(std::uint64_t offset, std::span<char> to, std::error_code& error);

  /// Writes all bytes at the file's position, which moves. If it fails, some of them may have been written.
  ///
  /// \throws sennit::write_error if it fails; it contains the number of bytes that were written
  ///   (write_error.hpp)
  /// \throws sennit::cancelled if a stop_guard ends the wait
  void write_all(std::string_view from);
  /// Like write_all(), but sets `error` instead of throwing. If a stop_guard ends the wait, it sets
  /// operation_canceled.
  ///
  /// \returns the number of bytes that were written, however it ends
  std::size_t write_all(std::string_view from, std::error_code& error);
  /// Like write_all(), but at an offset in bytes. The file's position does not move.
  void write_all_at(std::uint64_t offset, std::string_view from);
  /// Like write_all_at(), but sets `error` instead of throwing. Otherwise like write_all() with an error
  /// code.
  std::size_t write_all_at(std::uint64_t offset, std::string_view from, std::error_code& error);

  /// Reads the rest of the file, from its position. Throws `std::bad_alloc` as well.
  std::string read_all();

  /// \returns the size of the file in bytes
  std::uint64_t size();
  /// Like size(), but sets `error` instead of throwing.
  std::uint64_t size(std::error_code& error);

  /// Waits until all written bytes are on the medium (fsync).
  void sync();
  /// Like sync(), but sets `error` instead of throwing.
  void sync(std::error_code& error);

  /// Closes the file. It is closed even if this fails; written bytes may then be lost.
  void close();
  /// Like close(), but sets `error` instead of throwing.
  void close(std::error_code& error);

  /// \returns whether the file is open
  bool is_open() const noexcept { return descriptor_ >= 0; }
  /// The file descriptor; -1 if the file is closed.
  int native_handle() const noexcept { return descriptor_; }

private:
  explicit file(int descriptor) noexcept : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace sennit::inline v0_1
