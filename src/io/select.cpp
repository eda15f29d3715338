// How a select waits for file descriptors.
#include "sennit/select_io.hpp"

#include <poll.h>

#include "attempt.hpp"

namespace sennit::detail {

static_assert(poll_in == POLLIN && poll_out == POLLOUT);

readiness_case::readiness_case(io_source* source, io_side io_source::* which, short events) noexcept
    : source_(source), side_(which), events_(events) {
  if (source != nullptr)
    use.emplace(*source, io_is_shared());
}

void readiness_case::look() {
  ready_ = !is_open();
  if (ready_)
    return;
  events_seen_ = (source_->*side_).look();
  pollfd wanted{source_->descriptor.load(std::memory_order_relaxed), events_, 0};
  const int kept = errno;
  ready_ = ::poll(&wanted, 1, 0) > 0;
  errno = kept;
}

bool readiness_case::watch() {
  epoll_driver& driver = driver_of(*this_worker());
  if (source_->driver.load(std::memory_order_relaxed) != driver.id())
    failed_ = driver.watch(*source_) != 0;
  io_side& side = source_->*side_;
  side.seen = events_seen_;
  entered_ = !failed_ && source_enter(side, *this);
  return entered_;
}

void readiness_case::leave() noexcept {
  if (!entered_)
    return;
  entered_ = false;
  if (!source_leave(source_->*side_, *this))
    until_let_go(*this);
}

}  // namespace sennit::detail
