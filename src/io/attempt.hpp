// The one shape of all I/O: attempt it while that is worthwhile, else wait.
#pragma once

#include <sys/types.h>

#include <cerrno>

#include "sennit/detail/io/epoll_driver.hpp"

namespace sennit::detail {

struct io_direction {
  bool io_source::* ready;
  fiber* io_source::* slot;
  const char* reason;
};

// Counts a transfer; false: first source_give_way(), which also says so when this is no fiber.
inline bool io_may_transfer() noexcept {
  worker* w = this_worker();
  return w != nullptr && ++driver_of(*w).transfers < epoll_driver::transfer_budget;
}

// `attempt` returns what it achieved, or an errno, negated; EAGAIN: not now. When the deadline passes it is
// attempted once more: a deadline in the past means "only try", and a worker that was late does not make
// data late that came in time.
template <class Attempt>
[[gnu::always_inline]] inline ssize_t io_attempt(io_source* source, const io_direction& direction,
                                                 time_point deadline, Attempt attempt) {
  if (source == nullptr) [[unlikely]]
    return -EBADF;
  if (!io_may_transfer() && !source_give_way(*source)) [[unlikely]]
    return -ECANCELED;
  bool last = false;
  for (;;) {
    if (source->*direction.ready) {
      const ssize_t result = attempt(*source);
      if (result != -EAGAIN)
        return result;
      source->*direction.ready = false;
    }
    if (last)
      return -ETIMEDOUT;
    const int error = source_wait(*source, direction.slot, direction.reason, deadline);
    if (error == -ETIMEDOUT)
      last = source->*direction.ready = true;
    else if (error != 0)
      return error;
  }
}

}  // namespace sennit::detail
