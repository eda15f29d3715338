// The one shape of all I/O: attempt it while that is worthwhile, else wait.
#pragma once

#include <sys/types.h>

#include <cerrno>

#include "sennit/detail/io/epoll_driver.hpp"

namespace sennit::detail {

struct io_direction {
  io_side io_source::* side;
  const char* reason;
};

// Whether the calling fiber is one of a parallel runtime. Ends the program outside of fibers.
inline bool io_is_shared() noexcept {
  const worker* w = this_worker();
  return (w != nullptr ? *w : running_worker_for("I/O")).shared != nullptr;
}

// Counts a transfer; false: first source_give_way().
inline bool io_may_transfer() noexcept {
  return ++driver_of(*this_worker()).transfers < epoll_driver::transfer_budget;
}

// `attempt(source, events)` returns what it achieved, or an errno, negated; EAGAIN: not now. One that finds
// that another would be in vain notes `events` as seen. When the deadline passes it is attempted once more: a
// deadline in the past means "only try", and a worker that was late does not make data late that came in
// time.
template <class Attempt>
[[gnu::always_inline]] inline ssize_t io_attempt(io_source* source, const io_direction& direction,
                                                 time_point deadline, Attempt attempt) {
  if (source == nullptr) [[unlikely]]
    return -EBADF;
  const io_use use(*source, io_is_shared());
  if (!use.begun()) [[unlikely]]
    return -EBADF;
  if (!io_may_transfer()) [[unlikely]] {
    source_give_way();
    if (source->closed())
      return -ECANCELED;
  }
  io_side& side = source->*direction.side;
  for (bool last = false;;) {
    const std::uintptr_t events = side.look();
    if (events != side.seen || last) {
      const ssize_t result = attempt(*source, events);
      if (result != -EAGAIN)
        return result;
      side.seen = events;
    }
    if (last)
      return -ETIMEDOUT;
    const int error = source_wait(*source, direction.side, direction.reason, deadline);
    if (source->closed()) [[unlikely]]
      return -ECANCELED;
    if (error == -ETIMEDOUT)
      last = true;
    else if (error != 0)
      return error;
  }
}

// Waits for an event that comes from now on. `ready()` is called first, and may fail.
template <class Ready>
int io_wait(io_source& source, const io_direction& direction, time_point deadline, Ready ready) {
  const io_use use(source, io_is_shared());
  if (!use.begun())
    return -EBADF;
  io_side& side = source.*direction.side;
  side.seen = side.look();
  int error = ready();
  if (error != 0)
    side.seen = 0;  // nobody has tried
  else
    error = source_wait(source, direction.side, direction.reason, deadline);
  return source.closed() ? -ECANCELED : error;
}

}  // namespace sennit::detail
