// This process's resources, as the kernel counts them.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace support {

inline std::size_t count_mappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

inline std::size_t resident_bytes() {
  std::size_t pages = 0;
  std::ifstream file("/proc/self/statm");
  file >> pages >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Its memory that is no file's, to the page: the kernel counts the rest only roughly.
inline std::size_t anonymous_bytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string word; file >> word;)
    if (std::size_t kib = 0; word == "Anonymous:" && file >> kib)
      return kib * 1024;
  return 0;
}

// Without pipes: AddressSanitizer opens some for a moment wherever a thread begins, so also beside the
// caller.
inline std::ptrdiff_t open_descriptors() {
  return std::count_if(std::filesystem::directory_iterator("/proc/self/fd"), {}, [](const auto& each) {
    std::error_code gone;
    const auto opened = std::filesystem::read_symlink(each, gone);
    return !gone && !opened.native().starts_with("pipe:");
  });
}

}  // namespace support
