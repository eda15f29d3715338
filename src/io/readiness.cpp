#include "sennit/local/readiness.hpp"

#include <cerrno>

#include "sennit/detail/io/epoll_driver.hpp"
#include "sennit/detail/io/socket.hpp"

namespace sennit::local {

namespace {

using namespace sennit::detail;

// We do not see how much of the last event its owner has used up, so epoll is asked to tell again.
int wait_for(io_source& source, fiber* io_source::* slot, const char* reason, time_point deadline) {
  auto& driver = static_cast<epoll_driver&>(*running_worker_for("a wait for readiness").driver);
  const bool known = source.driver.load(std::memory_order_relaxed) == driver.id();
  const int error = known ? driver.refresh(source) : driver.add(source);
  if (error == -EPERM)
    return 0;  // a file that is always ready
  return error != 0 ? error : source_wait(source, slot, reason, deadline);
}

}  // namespace

// Its owner keeps the file descriptor open, so that closing ours does not end the registration.
readiness::~readiness() {
  if (worker* w = this_worker())
    static_cast<epoll_driver&>(*w->driver).remove(*source_.get());
  source_.release();
}

void readiness::wait_readable(time_point deadline) {
  io_count(wait_for(*source_.get(), &io_source::reader, "readable", deadline), "wait until readable");
}

void readiness::wait_readable(std::error_code& error, time_point deadline) {
  io_count(wait_for(*source_.get(), &io_source::reader, "readable", deadline), error);
}

void readiness::wait_writable(time_point deadline) {
  io_count(wait_for(*source_.get(), &io_source::writer, "writable", deadline), "wait until writable");
}

void readiness::wait_writable(std::error_code& error, time_point deadline) {
  io_count(wait_for(*source_.get(), &io_source::writer, "writable", deadline), error);
}

}  // namespace sennit::local
