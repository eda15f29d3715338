// A source: what the io room knows of a file descriptor that fibers wait for.
//
// Sources are type-stable and live outside of the objects that own them: streams can be moved, an event that
// the kernel still holds for a file descriptor that was closed finds a source, if another one's, and a fiber
// that resumes can look whether its source was closed meanwhile: then `epoch` has grown.
//
// `readable` and `writable` mean that an attempt is worthwhile; they are true until an attempt shows the
// contrary, and are set again by the events, which are edge-triggered. A transfer that moved less than asked
// for has emptied (or filled) the socket's buffer: there is no need for another one that says EAGAIN
// (epoll(7), question 9). It is not so once the kernel has said all there is to say, since no further event
// would come: after the peer's end of stream, an error, or urgent data (a read stops at its mark). From then
// on `exact` is set and only EAGAIN counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "sennit/detail/sched/worker.hpp"

namespace sennit::detail {

struct alignas(64) io_source {
  int descriptor = -1;
  bool readable = true;
  bool writable = true;
  bool exact = false;
  std::uint32_t epoch = 0;
  fiber* reader = nullptr;  // parked until readable, or woken so recently that it has not run yet
  fiber* writer = nullptr;
  // The driver it is registered with, 0: none. Only that driver's events count. Atomic since a source that
  // was closed may be in use in another runtime, while an event for its former file descriptor comes here.
  std::atomic<std::uint64_t> driver{0};
  io_source* next = nullptr;  // on the free list
};

// Any thread. source_take throws std::bad_alloc.
io_source* source_take(int descriptor);
void source_give(io_source* source) noexcept;

// Ends the wait of a fiber that waits in `slot`, if one does.
inline void source_wake(fiber*& slot) noexcept {
  fiber* f = std::exchange(slot, nullptr);
  if (f != nullptr && f->is_parked())  // else its deadline or its runtime's end came first
    unpark_in_turn(*f, fiber_status::notified);
}

// Parks until an event for `slot` (reader or writer) or the deadline. Returns 0, or an errno, negated:
// ETIMEDOUT; ECANCELED when the source was closed: then it is not to be touched any more; what registering
// it met. 0 is a reason to try again, not a promise.
int source_wait(io_source& source, fiber* io_source::* slot, const char* reason, time_point deadline);

// A fiber that has made many transfers without parking gives way to the others once, and has the worker look
// for events. False: the source was closed meanwhile.
bool source_give_way(io_source& source);

// Owns a source and its file descriptor.
class owned_source {
public:
  owned_source() = default;
  // Takes the file descriptor, and closes it when it throws std::bad_alloc.
  explicit owned_source(int descriptor);
  explicit owned_source(io_source* taken) noexcept : source_(taken) {}
  owned_source(owned_source&& other) noexcept : source_(std::exchange(other.source_, nullptr)) {}
  owned_source& operator=(owned_source&& other) noexcept {
    std::swap(source_, other.source_);
    return *this;
  }
  ~owned_source() {
    if (source_ != nullptr)
      close();
  }

  // Wakes who waits: they get operation_canceled.
  void close() noexcept;
  // The same, but returns the file descriptor instead of closing it.
  int release() noexcept;

  explicit operator bool() const noexcept { return source_ != nullptr; }
  io_source* get() const noexcept { return source_; }
  int descriptor() const noexcept { return source_ != nullptr ? source_->descriptor : -1; }

private:
  io_source* source_ = nullptr;
};

}  // namespace sennit::detail
