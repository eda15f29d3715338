// How a fiber without a stack waits for a file descriptor.
#include "sennit/detail/io/ready_wait.hpp"

#include <poll.h>

#include <cerrno>

#include "sennit/detail/sched/worker.hpp"

namespace sennit::inline v0_1::detail {

// If no event came since the last failed attempt, the side's words show that; otherwise the kernel is asked.
bool ready_wait_base::is_ready() const noexcept {
  io_side& in = side();
  const std::uintptr_t events = in.look();
  if (events == in.last_seen_event)
    return false;
  pollfd wanted{source_->descriptor.load(std::memory_order_relaxed),
                static_cast<short>(reads_ ? POLLIN : POLLOUT), 0};
  const int kept = errno;
  const bool ready = ::poll(&wanted, 1, 0) != 0;
  errno = kept;
  if (!ready)
    in.last_seen_event = events;
  return ready;
}

int ready_wait_base::begin(bool shared) noexcept {
  if (begun_)
    return 0;
  shared_ = shared;
  const int error = source_->uses.begin(use(), shared);
  begun_ = error == 0;
  return error;
}

bool ready_wait_base::file(fiber& f, waiter& me) noexcept {
  if (source_ == nullptr || begin(!f.home->is_local()) != 0)
    return false;
  driver& driver = *this_worker()->driver;
  // What cannot be waited for is ready: the operation will say why.
  if ((source_->driver.load(std::memory_order_relaxed) != driver.id() && driver.watch(*source_) != 0) ||
      is_ready() || source_->closed())
    return false;
  driver.transfers = 0;
  if (!shared_)
    f.flags.status = fiber_status::parked;
  me_ = &me;
  return source_enter(side(), me);  // true: this may be gone
}

bool ready_wait_base::leave(waiter& me) noexcept {
  const bool left = source_leave(side(), me);
  if (!left)
    wait_for_release(me);
  came_ = !left || is_ready();
  return left;
}

ready_wait_base::~ready_wait_base() {
  if (!begun_)
    return;
  const io_use ends(io_use::going_on{}, *source_, use(), shared_);
  if (!shared_ && me_ != nullptr)
    source_leave(side(), *me_);  // where its runtime ends
}

}  // namespace sennit::inline v0_1::detail
