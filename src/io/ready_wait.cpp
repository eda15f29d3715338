// How a fiber without a stack waits for a file descriptor.
#include "sennit/detail/io/ready_wait.hpp"

#include <poll.h>

#include <cerrno>

#include "sennit/detail/io/epoll_driver.hpp"

namespace sennit::detail {

static_assert(POLLIN == 1 && POLLOUT == 4);

// Where nothing has come since the last attempt, which was in vain, that is known; else the kernel is asked.
bool ready_wait_base::is_ready(io_side& side) const noexcept {
  const std::uintptr_t events = side.look();
  if (events == side.seen)
    return false;
  pollfd wanted{source_->descriptor.load(std::memory_order_relaxed), events_, 0};
  const int kept = errno;
  const bool ready = ::poll(&wanted, 1, 0) != 0;
  errno = kept;
  if (!ready)
    side.seen = events;
  return ready;
}

bool ready_wait_base::file(fiber& f) noexcept {
  if (source_ == nullptr)
    return false;
  const bool shared = f.home->shared != nullptr;
  epoll_driver& driver = driver_of(*this_worker());
  use_.emplace(*source_, shared);
  // What cannot be waited for is ready: the operation will say why.
  if (!use_->begun() ||
      (source_->driver.load(std::memory_order_relaxed) != driver.id() && driver.watch(*source_) != 0)) {
    use_.reset();
    return false;
  }
  io_side& side = source_->*side_;
  if (is_ready(side) || source_->closed()) {
    use_.reset();
    return false;
  }
  driver.transfers = 0;
  if (!shared) {
    f.flags.status = fiber_status::parked;
    local_ = &f;
  }
  if (source_enter(side, f))  // and we may be gone
    return true;
  local_ = nullptr;
  use_.reset();
  return false;
}

bool ready_wait_base::withdraw(fiber& f) noexcept {
  return source_leave(source_->*side_, f);
}

void ready_wait_base::leave() noexcept {
  if (local_ != nullptr)
    source_leave(source_->*side_, *local_);  // where its runtime ends
}

}  // namespace sennit::detail
