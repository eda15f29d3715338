// sennit::local::fiber: a handle to a fiber of a local runtime; and what a fiber does to itself.
// room: sched
//
//   sennit::local::runtime runtime;
//   runtime.run([] {
//     auto child = sennit::local::spawn([] { std::puts("child"); });
//     std::puts("parent");
//     child.join();
//   });
//
// Source: Dolan 2013, section 5 (fibers); RethinkDB (a fiber's stack and run loop are reused whole).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/deadline.hpp"
#include "sennit/detail/sched/misuse.hpp"
#include "sennit/detail/sched/spawn.hpp"

namespace sennit::detail {
struct handle_access;  // capi's
}

namespace sennit::local {

struct spawn_options {
  std::string_view name = {};  // for messages and debuggers; the first 31 bytes are kept
  // Bytes, rounded up to a power of two, at least 8 KiB; 0: the runtime's. small_stack (stacks.hpp) asks for
  // less than 8 KiB.
  std::size_t stack_size = 0;
  // Bytes of the guard below the stack, rounded up to pages; 0: the runtime's. A stack overflow ends the
  // program with a report if no frame is larger than the guard, or if the code is compiled with
  // -fstack-clash-protection. docs/stacks.md says more.
  std::size_t guard_size = 0;
  // Memory to run on instead, 16-aligned, of 1 KiB at least, without a guard; `stack_size` is then not looked
  // at. It is the fiber's until a join of it has returned, or, if it was detached, until its runtime has
  // ended; for good, if it was discarded. Others are asserted, or (without assertions) EINVAL is thrown.
  std::span<std::byte> stack = {};
};

// Owns the right to join one fiber. Move-only. A handle that is destroyed unjoined detaches its fiber, which
// goes on whenever its runtime runs; an exception that then leaves it has nowhere to go and terminates the
// program with the fiber's name. Handles are used on their runtime's thread only, and not after its end.
class fiber {
public:
  fiber() = default;
  fiber(fiber&& other) noexcept : fiber_(std::exchange(other.fiber_, nullptr)) {}
  // `other` is empty afterwards. The fiber that this handle referred to is detached.
  fiber& operator=(fiber&& other) noexcept {
    fiber taken(std::move(other));
    std::swap(fiber_, taken.fiber_);
    return *this;
  }
  SENNIT_INLINE ~fiber() {
    if (fiber_ != nullptr)
      let_go(*fiber_);
  }

  bool joinable() const noexcept { return fiber_ != nullptr; }

  // Waits until the fiber has ended, and throws what its function threw. Misuse: the handle is
  // empty (std::system_error, EINVAL; asserted in debug builds), or another fiber joins it.
  SENNIT_INLINE void join() {
    assert(fiber_ != nullptr &&
           "sennit: join of a handle that is empty: joined or detached before, or moved from");
    if (fiber_ == nullptr) [[unlikely]]
      detail::throw_empty_handle("join");
    detail::fiber* done = fiber_;
    if (done->flags.status != detail::fiber_status::finished)
      done = wait(detail::never);
    collect(*done);
  }

  // The same, but gives up at the deadline (steady clock) and returns false; the fiber is then still
  // joinable.
  bool join_until(std::chrono::steady_clock::time_point deadline) {
    assert(fiber_ != nullptr &&
           "sennit: join of a handle that is empty: joined or detached before, or moved from");
    if (fiber_ == nullptr) [[unlikely]]
      detail::throw_empty_handle("join");
    detail::fiber* done = fiber_;
    if (done->flags.status != detail::fiber_status::finished)
      done = wait(deadline);
    if (done != nullptr)
      collect(*done);
    return done != nullptr;
  }
  // Takes a time of any clock.
  template <class Clock, class Duration>
  bool join_until(const std::chrono::time_point<Clock, Duration>& time) {
    return detail::wait_by_clock(
        time, [this](std::chrono::steady_clock::time_point deadline) { return join_until(deadline); });
  }
  template <class Rep, class Period>
  bool join_for(std::chrono::duration<Rep, Period> time) {
    return join_until(detail::deadline_after(time));
  }

  // The fiber continues without a handle. Of an empty handle, this and all that follow are fatal.
  void detach() noexcept {
    let_go(some());
    fiber_ = nullptr;
  }

  // Lets the fiber's park() return: the one it is in, or else its next one.
  void unpark() noexcept { detail::fiber_unpark(some()); }

  // The fiber's number: 1 or more, given when first asked for or printed, to no other of the process
  // until 2^32 have been.
  std::uint64_t id() const noexcept { return detail::fiber_id(some()); }
  std::string_view name() const noexcept { return detail::fiber_name(some()); }

private:
  friend class runtime;
  friend struct detail::join_access;
  friend struct detail::handle_access;
  template <class Function>
  friend fiber spawn(Function&& function, const spawn_options& options);
  friend fiber spawn(continuation begins);

  SENNIT_INLINE explicit fiber(detail::fiber& f) noexcept : fiber_(&f) {}
  // Returns the fiber when it has ended, null when the deadline has passed, detail::nobody when the caller
  // is to leave. It tells its joiner who it is in the register that the switch hands over: nothing waits for
  // our own stack to be read then.
  SENNIT_INLINE detail::fiber* wait(detail::time_point deadline) {
    detail::worker& w = detail::running_worker(detail::join_reason);
    assert(fiber_->joiner == nullptr && "sennit: two fibers join one");
    assert(fiber_ != w.ready.current && "sennit: a fiber joins itself, and so would wait for ever");
    if (deadline == detail::never)
      return &detail::park_joining(w, *fiber_);
    fiber_->joiner = w.ready.current;
    detail::park_until(w, detail::fiber_status::joining, {detail::join_reason, fiber_}, deadline);
    return fiber_->flags.status == detail::fiber_status::finished ? fiber_ : nullptr;
  }
  // `done`: what wait() has returned.
  SENNIT_INLINE void collect(detail::fiber& done) {
    if (done.flags.unusual) [[unlikely]] {
      detail::leave_if_told(done);
      fiber_ = nullptr;
      collect_unusual(done);
    } else {
      fiber_ = nullptr;
      detail::fiber_give(*detail::this_worker(), done);
    }
  }
  [[gnu::cold]] static void collect_unusual(detail::fiber& done);
  // Not told where the handle is, which can so be in a register.
  static void let_go(detail::fiber& f) noexcept;

  detail::fiber& some() const noexcept {
    if (fiber_ == nullptr) [[unlikely]]
      detail::fatal_empty_handle("use");
    return *fiber_;
  }

  detail::fiber* fiber_ = nullptr;
};

// Starts a fiber of the runtime that the caller runs in. It is queued; the caller goes on. `function` is
// moved to the new fiber's stack and called there without arguments; its result is ignored. Throws
// std::system_error or std::bad_alloc when memory or mappings ran out, and then nothing was started.
template <class Function>
SENNIT_INLINE fiber spawn(Function&& function, const spawn_options& options) {
  detail::worker* w = detail::this_worker();
  if (w == nullptr) [[unlikely]]
    detail::no_fiber_here("spawn");
  assert(w->ready.running() &&
         "sennit: a spawn where no fiber runs, as in the destructor of what was posted");
  detail::fiber& f =
      detail::fiber_begin(*w, std::forward<Function>(function), detail::stack_wish_of(options), true);
  w->ready.add_by_running(&f);
  if (!options.name.empty()) [[unlikely]]
    detail::fiber_set_name(f, options.name);
  return fiber(f);
}
template <class Function>
SENNIT_INLINE fiber spawn(Function&& function) {
  return spawn(std::forward<Function>(function), spawn_options{});
}

// Starts a fiber without a stack, as if its function had just returned `begins` (become.hpp). Precondition:
// it is not empty. Throws std::bad_alloc.
fiber spawn(continuation begins);

namespace this_fiber {

// Lets every other fiber that is ready run before the caller goes on (by the runtime's policy). errno is not
// kept.
SENNIT_INLINE void yield() {
  detail::yield();
}

// Blocks the calling fiber only. Steady clock.
void sleep_until(std::chrono::steady_clock::time_point deadline);
// Takes a time of any clock.
template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration>& time) {
  do
    sleep_until(detail::deadline_after(detail::time_until(time)));
  while (detail::time_until(time) > std::chrono::nanoseconds::zero());
}
template <class Rep, class Period>
void sleep_for(std::chrono::duration<Rep, Period> time) {
  sleep_until(detail::deadline_after(time));
}

// Blocks until somebody calls unpark() on this fiber's handle until a deadline; false: nobody did. At once,
// if that happened since the last park.
bool park_until(std::chrono::steady_clock::time_point deadline);
// Take a time of any clock, and a duration.
template <class Clock, class Duration>
bool park_until(const std::chrono::time_point<Clock, Duration>& time) {
  return detail::wait_by_clock(time, [](std::chrono::steady_clock::time_point at) { return park_until(at); });
}
template <class Rep, class Period>
bool park_for(std::chrono::duration<Rep, Period> time) {
  return park_until(detail::deadline_after(time));
}
// The same without a deadline.
SENNIT_INLINE void park() {
  detail::worker* const w = detail::this_worker();
  if (w == nullptr || !w->ready.running() || w->ready.current->flags.unpark_pending) [[unlikely]] {
    park_until(detail::never);
    return;
  }
  detail::park(*w, detail::fiber_status::unpark, "park");
  detail::current_fiber().flags.unpark_pending = false;
}

std::uint64_t id() noexcept;
std::string_view name() noexcept;
void set_name(std::string_view name) noexcept;

}  // namespace this_fiber

}  // namespace sennit::local
