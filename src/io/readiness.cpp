#include "sennit/readiness.hpp"

#include <cerrno>

#include "attempt.hpp"
#include "sennit/detail/io/socket.hpp"

namespace sennit::inline v0_1 {

namespace {

using namespace sennit::detail;

// We do not know how much of the last event its owner has used up, so epoll must report it again.
ssize_t wait_for(io_source* source, const io_direction& direction, time_point deadline) {
  running_worker_for("a wait for readiness");
  const ssize_t error = io_whole(source, direction, [&](io_source& s) -> ssize_t {
    return io_await(s, direction, deadline, [&] { return running_worker().driver->watch_again(s); });
  });
  return error == -EPERM ? 0 : error;  // a file that is always ready
}

constexpr io_direction until_readable = reading_for("readable");
constexpr io_direction until_writable = writing_for("writable");

}  // namespace

void readiness::wait_readable(time_point deadline) {
  io_count(wait_for(source_.get(), until_readable, deadline), "wait until readable");
}

void readiness::wait_readable(std::error_code& error, time_point deadline) {
  io_count(wait_for(source_.get(), until_readable, deadline), error);
}

void readiness::wait_writable(time_point deadline) {
  io_count(wait_for(source_.get(), until_writable, deadline), "wait until writable");
}

void readiness::wait_writable(std::error_code& error, time_point deadline) {
  io_count(wait_for(source_.get(), until_writable, deadline), error);
}

}  // namespace sennit::inline v0_1
