// A source: the I/O driver's state of a file descriptor that fibers wait for.
//
// Sources are type-stable and live outside of the objects that own them: streams can be moved while a fiber
// waits in them, and a late event of a closed file descriptor still finds a source, if only another one's.
//
// Each direction (side) has one word. At most one operation reads and one writes at a time: a second one gets
// EBUSY before it makes a system call, so bytes of two writes never interleave.
//
//   odd     no fiber waits; half of it counts the events that came   the driver, by compare-and-swap
//   even    the waiter                                               by compare-and-swap of what it has seen
//
// The operation that has the direction also has a plain word: the events that it has used up. An attempt is
// worthwhile while the two differ. Before an attempt the operation loads the side's word, and notes it if the
// attempt failed. So an event that comes meanwhile is not lost: the word has changed, and the operation does
// not begin to wait.
//
// Events are edge-triggered. A transfer that moved less than requested has emptied (or filled) the socket's
// buffer: no further attempt that returns EAGAIN is needed (epoll(7), question 9). This does not hold after
// the kernel's last event: the peer's end of stream, an error, or urgent data (a read stops at its mark).
// From then on `exact` is set, and only EAGAIN ends the attempts.
//
// A file descriptor must not be closed while an operation is about to use its number. So one word counts all
// operations (basic_io_uses). The last one closes a descriptor whose close was deferred, and frees a source
// that has lost its owner. One io_use lasts for a whole operation, with all its waits. An operation on a
// closed source fails with ECANCELED, whether the source was closed before the operation or during it: a
// fiber that makes several operations in a row cannot tell the two apart. EBADF means that there is no
// source.
//
// In a local runtime one thread does all of this: loads and stores, no read-modify-writes.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/io/side.hpp"
#include "sennit/detail/sched/worker.hpp"

namespace sennit::inline v0_1::detail {

using io_side = basic_io_side<>;

struct alignas(64) io_source {
  std::atomic<int> descriptor{-1};
  std::atomic<bool> exact{false};
  bool borrowed = false;  // the source does not own the file descriptor, which stays open
  bool copied = false;    // `descriptor` is a duplicate of a borrowed one, to be closed
  spin_lock registering;  // to change `driver` and epoll's registration; not needed once it is closed
  io_side reading;
  io_side writing;
  // The driver it is registered with, 0: none. Only that driver's events count.
  std::atomic<std::uint64_t> driver{0};
  basic_io_uses<> uses;
  std::atomic<unsigned> strays{0};  // waits on other workers than its driver's, since it was registered
  io_source* next = nullptr;        // on the free list

  bool closed() const noexcept { return uses.is_closed(); }
};
static_assert(offsetof(io_source, descriptor) == 0, "waits take its address for the source's");

// An operation on a source. `shared`: the calling fiber is one of a parallel runtime.
class io_use {
public:
  static constexpr std::uint32_t closed = basic_io_uses<>::closed;
  static constexpr std::uint32_t abandoned = basic_io_uses<>::abandoned;
  static constexpr std::uint32_t reading = basic_io_uses<>::reading;
  static constexpr std::uint32_t writing = basic_io_uses<>::writing;
  static constexpr std::uint32_t other = basic_io_uses<>::other;

  // `what`: one of the last three.
  io_use(io_source& source, std::uint32_t what, bool shared) noexcept
      : source_(source),
        error_(source.uses.begin(what, shared)),
        what_(error_ == 0 ? what : 0),
        shared_(shared) {}
  // Takes over an operation that began elsewhere and has not ended.
  struct going_on {};
  io_use(going_on, io_source& source, std::uint32_t what, bool shared) noexcept
      : source_(source), what_(what), shared_(shared) {}
  // Closes the source, or gives it up: error() is -ECANCELED if it was closed before.
  struct ending {};
  io_use(ending, io_source& source, std::uint32_t how, bool shared) noexcept
      : source_(source),
        error_(source.uses.begin_end(how, shared) ? 0 : -ECANCELED),
        what_(other),
        shared_(shared) {}
  ~io_use() {
    if (what_ != 0 && !source_.uses.end(what_, shared_)) [[unlikely]]
      end_last();
  }
  io_use(const io_use&) = delete;
  io_use& operator=(const io_use&) = delete;

  // 0: it has begun. -ECANCELED: the source was closed before. -EBUSY: another operation has the direction.
  int error() const noexcept { return error_; }

private:
  [[gnu::cold]] void end_last() noexcept;

  io_source& source_;
  int error_ = 0;
  std::uint32_t what_;  // 0: nothing is to be ended
  bool shared_;
};

// Whether other threads may use the caller's sources at the same time.
inline bool io_may_be_shared() noexcept {
  const worker* w = this_worker();
  return w == nullptr || !w->is_local();
}

// Calls use(descriptor), which must not block the fiber. The number keeps its meaning until that returns.
// Callable anywhere. Returns the result of use(), -ECANCELED if the source is closed, -EBADF if there is
// none.
template <class Use>
int with_descriptor(io_source* source, Use use) {
  if (source == nullptr)
    return -EBADF;
  const io_use here(*source, io_use::other, io_may_be_shared());
  return here.error() == 0 ? use(source->descriptor.load(std::memory_order_relaxed)) : here.error();
}

// Any thread. Throws std::bad_alloc.
io_source* source_take(int descriptor, bool borrowed = false);

// An event for a side: wakes its waiter; an operation that does not wait yet retries. `shared`: other threads
// may do so at the same time; otherwise it runs on the thread of the local runtime that uses the source.
void source_notify(io_side& side, bool shared) noexcept;

// Blocks until an event for a side since `side.last_seen_event`, or the deadline. Called by the operation
// that has the direction. Returns 0, or an errno, negated: ETIMEDOUT; what registering it met. 0 is a reason
// to try again, not a promise; the source may have been closed.
int source_wait(io_source& source, io_side io_source::* side, const char* reason, time_point deadline);

// For waits that other things may end as well (select): enter and leave a side, by the operation that has the
// direction. `source_enter`: false: an event came since `side.last_seen_event`. `source_leave`: false: an
// event has taken the waiter out, and ends its wait.
bool source_enter(io_side& side, waiter& me) noexcept;
bool source_leave(io_side& side, waiter& me) noexcept;

// A fiber that has made many transfers without waiting gives way to the others once, and has the worker look
// for events.
void source_yield();

struct source_access;  // select_io.hpp

// Owns a source and, unless it is borrowed, its file descriptor.
class owned_source {
public:
  owned_source() = default;
  // Takes the file descriptor, and closes it when it throws std::bad_alloc.
  explicit owned_source(int descriptor);
  explicit owned_source(io_source* taken) noexcept : source_(taken) {}
  owned_source(owned_source&& other) noexcept : source_(std::exchange(other.source_, nullptr)) {}
  // `other` is empty afterwards. What this owned is given up as by the destructor.
  owned_source& operator=(owned_source&& other) noexcept {
    owned_source taken(std::move(other));
    std::swap(source_, taken.source_);
    return *this;
  }
  ~owned_source() {
    if (source_ != nullptr)
      end(io_use::closed | io_use::abandoned);
  }

  // Wakes the waiters, which get operation_canceled. Any fiber may call it, also while others use the source.
  void close() noexcept {
    if (source_ != nullptr)
      end(io_use::closed);
  }

  // Closes, but leaves the file descriptor open, and returns it when no operation uses it any more. Returns
  // -1 if it was closed before.
  int release();

  // The caller owns the source from now on.
  io_source* take() noexcept { return std::exchange(source_, nullptr); }

  explicit operator bool() const noexcept { return source_ != nullptr && !source_->closed(); }
  io_source* get() const noexcept { return source_; }
  int descriptor() const noexcept { return *this ? source_->descriptor.load(std::memory_order_relaxed) : -1; }

private:
  void end(std::uint32_t how) noexcept;
  static void cancel_operations(io_source& source, bool shared, bool stays_open) noexcept;

  io_source* source_ = nullptr;
};

}  // namespace sennit::inline v0_1::detail
