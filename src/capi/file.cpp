// Files.
#include "file.hpp"

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "error.hpp"

using namespace sennit;
using capi::count_of;
using capi::guarded;
using capi::result_of;

namespace {

template <class Operation>
int tried(Operation operation) {
  return guarded([&] {
    std::error_code error;
    operation(error);
    return result_of(error);
  });
}

template <class Read>
ssize_t read(sennit_file* file, void* to, size_t size, Read operation) {
  if (file == nullptr || (to == nullptr && size != 0))
    return -EINVAL;
  return guarded([&] {
    std::error_code error;
    const std::size_t count = operation(std::span(static_cast<char*>(to), size), error);
    return count_of(count, error);
  });
}

template <class Write>
int write(sennit_file* file, const void* from, size_t size, size_t* written, Write operation) {
  if (written != nullptr)
    *written = 0;
  if (file == nullptr || (from == nullptr && size != 0))
    return -EINVAL;
  return tried([&](auto& error) {
    const std::size_t count = operation(std::string_view(static_cast<const char*>(from), size), error);
    if (written != nullptr)
      *written = count;
  });
}

}  // namespace

int sennit_file_open(sennit_file** result, const char* path, int flags, unsigned mode) {
  if (result == nullptr || path == nullptr)
    return -EINVAL;
  return guarded([&] {
    auto made = std::make_unique<sennit_file>();
    std::error_code error;
    made->file = file::open(path, error, flags, static_cast<mode_t>(mode));
    if (error)
      return capi::negated(error);
    *result = made.release();
    return 0;
  });
}

ssize_t sennit_file_read(sennit_file* file, void* to, size_t size) {
  return read(file, to, size, [&](auto place, auto& error) { return file->file.read_some(place, error); });
}

ssize_t sennit_file_read_at(sennit_file* file, uint64_t offset, void* to, size_t size) {
  return read(file, to, size,
              [&](auto place, auto& error) { return file->file.read_some_at(offset, place, error); });
}

int sennit_file_write_all(sennit_file* file, const void* from, size_t size, size_t* written) {
  return write(file, from, size, written,
               [&](auto bytes, auto& error) { return file->file.write_all(bytes, error); });
}

int sennit_file_write_all_at(sennit_file* file, uint64_t offset, const void* from, size_t size,
                             size_t* written) {
  return write(file, from, size, written,
               [&](auto bytes, auto& error) { return file->file.write_all_at(offset, bytes, error); });
}

int sennit_file_size(sennit_file* file, uint64_t* result) {
  if (file == nullptr || result == nullptr)
    return -EINVAL;
  return tried([&](auto& error) {
    const std::uint64_t size = file->file.size(error);
    if (!error)
      *result = size;
  });
}

int sennit_file_sync(sennit_file* file) {
  if (file == nullptr)
    return -EINVAL;
  return tried([&](auto& error) { file->file.sync(error); });
}

int sennit_file_close(sennit_file* file) {
  if (file == nullptr)
    return 0;
  const std::unique_ptr<sennit_file> owned(file);
  return tried([&](auto& error) { owned->file.close(error); });
}
