// Common parts of the tests of dumps and reports.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <string>
#include <thread>

#include "sennit/detail/stack/sanitizer.hpp"
#include "sennit/dump.hpp"

#if defined(SENNIT_BACKEND_PORTABLE)
inline constexpr bool has_backtraces = false;
#else
inline constexpr bool has_backtraces = true;
#endif
// ThreadSanitizer calls handlers of signals later, elsewhere.
#if defined(SENNIT_TSAN)
inline constexpr bool has_backtraces_of_running = false;
#else
inline constexpr bool has_backtraces_of_running = has_backtraces;
#endif

// What follows "parked: ..." in a line that is a regular expression.
inline const std::string for_long = " for \\d+\\.\\d{3} s";
inline std::string at(const void* object) {
  std::ostringstream text;
  text << " at " << object << for_long;
  return text.str();
}

// The same of a mutex, whose holder is noted where deadlocks are reported: as a rule in debug builds.
inline std::string at_mutex(const void* object) {
  std::ostringstream text;
  text << " at " << object << "( held by fiber \\d+)?( \\(not in this report[^)]*\\))?" << for_long;
  return text.str();
}

class memory_file {
public:
  memory_file() : fd_(::memfd_create("report", MFD_CLOEXEC)) {}
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { ::close(fd_); }

  int fd() const { return fd_; }
  std::string text() const {
    std::string all;
    char piece[4096];
    for (ssize_t n, at = 0; (n = ::pread(fd_, piece, sizeof piece, at)) > 0; at += n)
      all.append(piece, static_cast<std::size_t>(n));
    return all;
  }

private:
  int fd_;
};

// Not inlined, because a dump shows its caller's frames.
[[gnu::noinline]] inline std::string dumped() {
  const memory_file file;
  sennit::dump(file.fd());
  return file.text();
}

// What the process writes to standard error while this lives.
class stderr_file {
public:
  stderr_file() : kept_(::dup(STDERR_FILENO)) { ::dup2(file_.fd(), STDERR_FILENO); }
  stderr_file(const stderr_file&) = delete;
  stderr_file& operator=(const stderr_file&) = delete;
  ~stderr_file() {
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
  }

  std::string text() const { return file_.text(); }
  // How often it is there.
  int count(const std::string& what) const {
    const std::string all = text();
    int found = 0;
    for (std::size_t at = 0; (at = all.find(what, at)) != std::string::npos; at += what.size())
      ++found;
    return found;
  }
  // Waits until it is there so often. False: it did not come within some seconds.
  bool comes(const std::string& what, int times = 1) const {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (count(what) < times && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return count(what) >= times;
  }

private:
  const memory_file file_;
  int kept_;
};
