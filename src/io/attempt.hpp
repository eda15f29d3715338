// How all I/O works: attempt it while that is worthwhile, otherwise wait.
#pragma once

#include <sys/types.h>

#include <cerrno>

#include "sennit/detail/io/source.hpp"
#include "sennit/stop_guard.hpp"

namespace sennit::inline v0_1::detail {

struct io_direction {
  io_side io_source::* side;
  std::uint32_t use;  // io_use's
  const char* reason;
};
constexpr io_direction reading_for(const char* reason) noexcept {
  return {&io_source::reading, io_use::reading, reason};
}
constexpr io_direction writing_for(const char* reason) noexcept {
  return {&io_source::writing, io_use::writing, reason};
}

// Whether the calling fiber is one of a parallel runtime. Ends the program outside of fibers.
inline bool io_is_shared() noexcept {
  const worker* w = this_worker();
  return !(w != nullptr ? *w : running_worker_for("I/O")).is_local();
}

// Counts a transfer; false: first source_yield().
inline bool io_may_transfer() noexcept {
  constexpr unsigned budget = 64;
  return ++this_worker()->driver->transfers < budget;
}

// A part of an operation that has begun (io_use). `attempt(source, events)` returns its result, or a negated
// errno; -EAGAIN means: not now. If another attempt would fail, it notes `events` as seen. When the deadline
// passes, one more attempt follows: a deadline in the past means "only try", and data that came in time is
// not late because a worker was. When a stop is requested already, an attempt is made before the wait, which
// would throw: bytes that have arrived are read, whether a worker has noticed their event or not.
template <class Attempt>
[[gnu::always_inline]] inline ssize_t io_step(io_source& source, const io_direction& direction,
                                              time_point deadline, Attempt attempt) {
  if (!io_may_transfer()) [[unlikely]] {
    source_yield();
    if (source.closed())
      return -ECANCELED;
  }
  io_side& side = source.*direction.side;
  for (bool last = false;;) {
    const std::uintptr_t events = side.look();
    if (events != side.last_seen_event || last || stop_requested()) {
      const ssize_t result = attempt(source, events);
      if (result != -EAGAIN)
        return result;
      side.last_seen_event = events;
    }
    if (last)
      return -ETIMEDOUT;
    const int error = source_wait(source, direction.side, direction.reason, deadline);
    if (source.closed()) [[unlikely]]
      return -ECANCELED;
    if (error == -ETIMEDOUT)
      last = true;
    else if (error != 0)
      return error;
  }
}

// A whole operation: calls `operation(source)` between its beginning and its end.
template <class Operation>
[[gnu::always_inline]] inline ssize_t io_whole(io_source* source, const io_direction& direction,
                                               Operation operation) {
  if (source == nullptr) [[unlikely]]
    return -EBADF;
  const io_use use(*source, direction.use, io_is_shared());
  return use.error() == 0 ? operation(*source) : use.error();
}

// One that is a single step.
template <class Attempt>
[[gnu::always_inline]] inline ssize_t io_attempt(io_source* source, const io_direction& direction,
                                                 time_point deadline, Attempt attempt) {
  return io_whole(source, direction, [&](io_source& s) { return io_step(s, direction, deadline, attempt); });
}

// A part of an operation: waits for an event that comes from now on. `ready()` is called first, and may fail.
template <class Ready>
int io_await(io_source& source, const io_direction& direction, time_point deadline, Ready ready) {
  io_side& side = source.*direction.side;
  side.last_seen_event = side.look();
  int error = ready();
  if (error != 0)
    side.last_seen_event = 0;  // no attempt was made
  else
    error = source_wait(source, direction.side, direction.reason, deadline);
  return source.closed() ? -ECANCELED : error;
}

}  // namespace sennit::inline v0_1::detail
