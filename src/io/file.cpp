// Files: system calls on the pool's threads.
#include "sennit/file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "sennit/detail/io/socket.hpp"
#include "sennit/offload.hpp"

namespace sennit {

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

template <class Write>
std::size_t write_all_by(std::string_view from, std::error_code& error, Write write) {
  std::size_t written = 0;
  error.clear();
  while (written < from.size() && !error) {
    const ssize_t put = elsewhere([&] { return write(from.substr(written), written); });
    if (put < 0)
      error = io_error(put);
    else
      written += static_cast<std::size_t>(put);
  }
  return written;
}

}  // namespace

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
  return write_all_by(from, error, [&](std::string_view rest, std::size_t) {
    return ::write(descriptor_, rest.data(), rest.size());
  });
}

std::size_t file::write_all_at(std::uint64_t offset, std::string_view from, std::error_code& error) {
  if (!fits(offset)) {
    error = std::make_error_code(std::errc::file_too_large);
    return 0;
  }
  return write_all_by(from, error, [&](std::string_view rest, std::size_t written) {
    return ::pwrite(descriptor_, rest.data(), rest.size(), static_cast<off_t>(offset + written));
  });
}

std::uint64_t file::size(std::error_code& error) {
  struct stat status{};
  error = io_error(elsewhere([&] { return ::fstat(descriptor_, &status); }));
  return error ? 0 : static_cast<std::uint64_t>(status.st_size);
}

void file::sync(std::error_code& error) {
  error = io_error(elsewhere([&] { return ::fsync(descriptor_); }));
}

// close() is not repeated: whatever it says, the descriptor is gone.
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
  std::error_code error;
  write_all(from, error);
  check(error, "write a file");
}

void file::write_all_at(std::uint64_t offset, std::string_view from) {
  std::error_code error;
  write_all_at(offset, from, error);
  check(error, "write a file");
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

}  // namespace sennit
