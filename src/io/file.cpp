// Files: system calls on the pool's threads.
#include "sennit/file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "sennit/detail/io/file_transfer.hpp"
#include "sennit/detail/io/socket.hpp"
#include "sennit/offload.hpp"
#include "write_all.hpp"

namespace sennit::inline v0_1 {

namespace {

using detail::io_error;

// What the call returns, or its errno, negated.
template <class Call>
auto elsewhere(Call call) -> decltype(call()) {
  return offload([&] {
    for (;;) {
      const auto result = call();
      if (result >= 0)
        return result;
      if (errno != EINTR)
        return static_cast<decltype(call())>(-errno);
    }
  });
}

void check(const std::error_code& error, const char* what) {
  if (error)
    detail::io_throw(error.value(), what);
}

// An offset that the kernel cannot count to is one beyond the largest file.
bool fits(std::uint64_t offset) {
  return offset <= static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
}

// Returns 0, or an errno, negated. The thread that writes counts the bytes, so the count is right even if the
// fiber's wait throws.
template <class Write>
int write_all_by(std::string_view from, std::size_t& written, Write write) {
  int error = 0;
  while (written < from.size() && error == 0)
    error = elsewhere([&] {
      const ssize_t put = write(from.substr(written), written);
      written += static_cast<std::size_t>(std::max<ssize_t>(put, 0));
      return put < 0 ? -1 : 0;
    });
  return error;
}

int write_to(int descriptor, std::string_view from, std::size_t& written) {
  return write_all_by(from, written, [&](std::string_view rest, std::size_t) {
    return ::write(descriptor, rest.data(), rest.size());
  });
}

int write_to_at(int descriptor, std::uint64_t offset, std::string_view from, std::size_t& written) {
  if (!fits(offset))
    return -EFBIG;
  return write_all_by(from, written, [&](std::string_view rest, std::size_t before) {
    return ::pwrite(descriptor, rest.data(), rest.size(), static_cast<off_t>(offset + before));
  });
}

void check_written(int error, std::size_t written) {
  if (error != 0)
    throw write_error(io_error(error), "sennit: write a file", written);
}

}  // namespace

namespace detail {

void file_transfer::call() noexcept {
  if (!fits(offset_)) {
    error_ = reads_ ? EINVAL : EFBIG;
    return;
  }
  do {
    const auto at = static_cast<off_t>(offset_ + moved_);
    const ssize_t moved = reads_ ? ::pread(descriptor_, at_, size_, at)
                                 : ::pwrite(descriptor_, at_ + moved_, size_ - moved_, at);
    if (moved >= 0)
      moved_ += static_cast<std::size_t>(moved);
    else if (errno != EINTR)
      error_ = errno;
    else
      continue;
    if (reads_)
      return;
  } while (error_ == 0 && moved_ < size_);
}

io_result file_transfer::result(int error) const noexcept {
  return {moved_, {error != 0 ? -error : error_, std::generic_category()}};
}

}  // namespace detail

file::~file() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

file file::open(const std::string& path, std::error_code& error, int flags, mode_t mode) {
  const int opened = elsewhere([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); });
  error = io_error(std::min(opened, 0));
  return file(std::max(opened, -1));
}

file file::open(const std::string& path, int flags, mode_t mode) {
  std::error_code error;
  file made = open(path, error, flags, mode);
  if (error)
    throw std::system_error(error, "sennit: open " + path);
  return made;
}

std::size_t file::read_some(std::span<char> to, std::error_code& error) {
  return detail::io_count(elsewhere([&] { return ::read(descriptor_, to.data(), to.size()); }), error);
}

std::size_t file::read_some_at(std::uint64_t offset, std::span<char> to, std::error_code& error) {
  if (!fits(offset)) {
    error = std::make_error_code(std::errc::invalid_argument);
    return 0;
  }
  return detail::io_count(
      elsewhere([&] { return ::pread(descriptor_, to.data(), to.size(), static_cast<off_t>(offset)); }),
      error);
}

std::size_t file::write_all(std::string_view from, std::error_code& error) {
  std::size_t written = 0;
  error = detail::reported([&] { return write_to(descriptor_, from, written); });
  return written;
}

std::size_t file::write_all_at(std::uint64_t offset, std::string_view from, std::error_code& error) {
  std::size_t written = 0;
  error = detail::reported([&] { return write_to_at(descriptor_, offset, from, written); });
  return written;
}

std::uint64_t file::size(std::error_code& error) {
  struct stat status{};
  error = io_error(elsewhere([&] { return ::fstat(descriptor_, &status); }));
  return error ? 0 : static_cast<std::uint64_t>(status.st_size);
}

void file::sync(std::error_code& error) {
  error = io_error(elsewhere([&] { return ::fsync(descriptor_); }));
}

// close() is not repeated: the descriptor is gone, whatever it returns.
void file::close(std::error_code& error) {
  const int descriptor = std::exchange(descriptor_, -1);
  error = io_error(offload([&] { return ::close(descriptor) == 0 || errno == EINTR ? 0 : -errno; }));
}

std::string file::read_all() {
  constexpr std::size_t step = 64 * 1024;
  std::string all;
  for (std::size_t used = 0;;) {
    all.resize(used + step);
    const std::size_t got = read_some(std::span(all).subspan(used));
    all.resize(used += got);
    if (got == 0)
      return all;
  }
}

std::size_t file::read_some(std::span<char> to) {
  std::error_code error;
  const std::size_t got = read_some(to, error);
  check(error, "read a file");
  return got;
}

std::size_t file::read_some_at(std::uint64_t offset, std::span<char> to) {
  std::error_code error;
  const std::size_t got = read_some_at(offset, to, error);
  check(error, "read a file");
  return got;
}

void file::write_all(std::string_view from) {
  std::size_t written = 0;
  check_written(write_to(descriptor_, from, written), written);
}

void file::write_all_at(std::uint64_t offset, std::string_view from) {
  std::size_t written = 0;
  check_written(write_to_at(descriptor_, offset, from, written), written);
}

std::uint64_t file::size() {
  std::error_code error;
  const std::uint64_t bytes = size(error);
  check(error, "ask for a file's size");
  return bytes;
}

void file::sync() {
  std::error_code error;
  sync(error);
  check(error, "sync a file");
}

void file::close() {
  std::error_code error;
  close(error);
  check(error, "close a file");
}

}  // namespace sennit::inline v0_1
