// How a fiber without a stack waits for a file descriptor.
#include "sennit/detail/io/ready_wait.hpp"

#include <poll.h>

#include <cerrno>

#include "sennit/detail/io/epoll_driver.hpp"

namespace sennit::detail {

// Where nothing has come since the last attempt, which was in vain, that is known; else the kernel is asked.
bool ready_wait_base::is_ready() const noexcept {
  io_side& in = side();
  const std::uintptr_t events = in.look();
  if (events == in.seen)
    return false;
  pollfd wanted{source_->descriptor.load(std::memory_order_relaxed),
                static_cast<short>(reads_ ? POLLIN : POLLOUT), 0};
  const int kept = errno;
  const bool ready = ::poll(&wanted, 1, 0) != 0;
  errno = kept;
  if (!ready)
    in.seen = events;
  return ready;
}

bool ready_wait_base::file_as(waiter& me, fiber& f) noexcept {
  if (source_ == nullptr)
    return false;
  shared_ = f.home->shared != nullptr;
  epoll_driver& driver = driver_of(*this_worker());
  io_use use(*source_, shared_);
  // What cannot be waited for is ready: the operation will say why.
  if (!use.begun() ||
      (source_->driver.load(std::memory_order_relaxed) != driver.id() && driver.watch(*source_) != 0) ||
      is_ready() || source_->closed())
    return false;
  driver.transfers = 0;
  if (!shared_)
    f.flags.status = fiber_status::parked;
  me_ = &me;
  waits_ = true;
  if (source_enter(side(), me)) {  // and we may be gone
    use.go();
    return true;
  }
  waits_ = false;
  return false;
}

bool ready_wait_base::leave() noexcept {
  return source_leave(side(), *me_);
}

ready_wait_base::~ready_wait_base() {
  if (!waits_)
    return;
  const io_use ends(io_use::going_on{}, *source_, shared_);
  if (!shared_)
    leave();  // where its runtime ends
}

// In time is who was ended by an event. If one comes together with the deadline, who brings it has taken the
// waiter out already, and lets go of it very soon.
void timed_ready_wait_base::leave() noexcept {
  if (left_ || !wait_.waits())
    return;
  left_ = true;
  in_time_ = (claim_ && claim_->was_taken()) || !wait_.leave();
  if (claim_ && !claim_->was_taken() && in_time_)
    for (backoff pause; !claim_->node().let_go.load(std::memory_order_acquire);)
      pause();
  claim_.reset();
}

// A worker that was late, and looks at its timers first, does not make late what came in time.
bool timed_ready_wait_base::ended_in_time() noexcept {
  const bool ends = !left_ && wait_.waits();
  leave();
  return in_time_ || (ends && wait_.is_ready());
}

bool timed_ready_wait_base::file_as(fiber& f, const char* reason) noexcept {
  if (f.home->shared != nullptr) {
    claim_.emplace(reason, deadline_, f);
    return wait_.file_as(claim_->node(), f) && claim_->file();
  }
  if (!wait_.file(f))
    return false;
  if (deadline_ != never)
    timer_.emplace(f.home->deadlines, f, deadline_);
  return true;
}

}  // namespace sennit::detail
