// sennit::fiber: a handle to a fiber of a parallel runtime; and what a fiber does to itself.
// room: sched
//
//   sennit::runtime runtime;
//   runtime.run([] {
//     auto child = sennit::spawn([] { std::puts("child"); });
//     std::puts("parent");
//     child.join();
//   });
//
// A fiber moves from worker to worker: after a call that may block, yield or spawn_now, it may be on another
// thread. What is bound to a thread (thread_local variables, pthread locks, std::this_thread::get_id()) must
// not be kept across such a call; errno, exceptions being handled, and what Sennit itself keeps are. A fiber
// that cannot live with that is pinned to a worker (spawn_options). docs/migration.md says more; who waits
// with a pthread lock held is reported in debug builds.
//
// Source: Dolan 2013, section 5 (fibers); Mohr, Kranz, Halstead 1991, by way of Dolan (spawn_now).
#pragma once

#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/deadline.hpp"
#include "sennit/detail/sched/misuse.hpp"
#include "sennit/detail/sched/wait.hpp"

namespace sennit {

class runtime;

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
  std::optional<unsigned> pinned = {};  // to this worker, from 0: it runs nowhere else
  // Begins at this worker, as a hint; others may take it from there. Any number: there are as many as it
  // takes, round and round.
  std::optional<unsigned> near = {};
};

// Owns the right to join one fiber. Move-only. A handle that is destroyed unjoined detaches its fiber; an
// exception that then leaves that fiber has nowhere to go and terminates the program with its name. A handle
// is used by one thread or fiber at a time, anywhere, but not after its runtime's end.
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

  // Waits until the fiber has ended, and throws what its function threw; sennit::cancelled where a stop_guard
  // ends the wait, as it ends all waits. From fibers (only the fiber waits) and OS threads. Misuse: the
  // handle is empty (std::system_error, EINVAL; asserted in debug builds).
  SENNIT_INLINE void join() {
    assert(fiber_ != nullptr &&
           "sennit: join of a handle that is empty: joined or detached before, or moved from");
    if (fiber_ == nullptr) [[unlikely]]
      detail::throw_empty_handle("join");
    if (fiber_->ended.load(std::memory_order_acquire) != detail::ended_already)
      detail::wait_for_end(*fiber_);
    collect();
  }

  // The same, but gives up at the deadline (steady clock) and returns false; the fiber is then still
  // joinable.
  bool join_until(std::chrono::steady_clock::time_point deadline);
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
  void unpark() noexcept;

  // The fiber's number: 1 or more, given when first asked for or printed, to no other of the process
  // until 2^32 have been.
  std::uint64_t id() const noexcept { return detail::fiber_id(some()); }
  // Of one that blocks without a stack (become.hpp): not while it may go on, or block so, on another thread.
  std::string_view name() const noexcept { return detail::fiber_name(some()); }

private:
  friend class runtime;
  friend struct detail::join_access;
  template <class Function>
  friend fiber spawn(Function&& function);
  template <class Function>
  friend fiber spawn(Function&& function, const spawn_options& options);
  template <class Function>
  friend fiber spawn_now(Function&& function);
  friend fiber spawn(continuation begins);

  explicit fiber(detail::fiber& f) noexcept : fiber_(&f) {}
  SENNIT_INLINE void collect() {
    detail::fiber& done = *std::exchange(fiber_, nullptr);
    if (done.flags.unusual) [[unlikely]]
      collect_unusual(done);
    else
      detail::parallel_give_here(done);
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

namespace detail {
// Throws std::system_error (EINVAL) where there is no such worker to pin a fiber to.
[[gnu::cold]] void parallel_must_have(const parallel_runtime& of, unsigned number);
// Names, pins and publishes a fiber that parallel_make has made. `w`: the caller's, if of its runtime.
[[gnu::cold]] void parallel_begin_as(parallel_runtime& of, parallel_worker* w, fiber& f,
                                     const spawn_options& options) noexcept;
}  // namespace detail

// Starts a fiber of the runtime that the caller runs in. It is queued; the caller goes on. `function` is
// moved to the new fiber's stack and called there without arguments; its result is ignored. Throws
// std::system_error or std::bad_alloc when memory or mappings ran out, or (EINVAL) it is to be pinned to a
// worker that there is not, and then nothing was started.
template <class Function>
SENNIT_INLINE fiber spawn(Function&& function) {
  detail::parallel_worker* w = &detail::running_parallel_for("spawn");
  detail::parallel_runtime& of = w->runtime;
  detail::fiber& f = detail::parallel_make(of, w, std::forward<Function>(function), {}, true);
  if constexpr (detail::may_block_to_copy<Function>)
    w = detail::this_parallel();
  if (!of.scatters) [[likely]]
    detail::parallel_push(*w, f);
  else
    detail::parallel_begin_as(of, w, f, {});  // made here, not where nobody reads them
  return fiber(f);
}
template <class Function>
SENNIT_INLINE fiber spawn(Function&& function, const spawn_options& options) {
  detail::parallel_worker* w = &detail::running_parallel_for("spawn");
  detail::parallel_runtime& of = w->runtime;
  if (options.pinned) [[unlikely]]
    detail::parallel_must_have(of, *options.pinned);
  detail::fiber& f =
      detail::parallel_make(of, w, std::forward<Function>(function), detail::stack_wish_of(options), true);
  if constexpr (detail::may_block_to_copy<Function>)
    w = detail::this_parallel();
  if (options.name.empty() && !options.pinned && !options.near && !of.scatters) [[likely]]
    detail::parallel_push(*w, f);
  else
    detail::parallel_begin_as(of, w, f, options);
  return fiber(f);
}

// Starts a fiber without a stack, as if its function had just returned `begins` (become.hpp). Precondition:
// it is not empty. Throws std::bad_alloc.
fiber spawn(continuation begins);

// Starts a fiber and runs it at once, as a call; the caller goes on when it ends or blocks, or before that on
// another worker. For divide and conquer: what is spawned runs first, so that few fibers are alive, and the
// callers' rest is what other workers take. Otherwise as spawn.
template <class Function>
SENNIT_INLINE fiber spawn_now(Function&& function) {
  detail::parallel_worker& w = detail::running_parallel_for("spawn_now");
  detail::fiber& f = detail::parallel_make(w.runtime, &w, std::forward<Function>(function), 0, true);
  fiber started(f);  // before that, for the caller may be told to leave there
  detail::parallel_enter_new(detail::may_block_to_copy<Function> ? detail::running_parallel() : w, f);
  return started;
}

namespace this_fiber {

// All of it is for fibers of a sennit::runtime, and ends the program where it is called elsewhere, but for
// sleeping: for those of a local runtime there is sennit::local::this_fiber. What waits throws
// sennit::cancelled where a stop_guard ends the wait.

// Lets other ready fibers of this worker run before the caller goes on. errno is not kept.
SENNIT_INLINE void yield() {
  detail::parallel_yield(detail::running_parallel_for("this_fiber::yield"));
}

// Blocks the calling fiber only. Steady clock. (An OS thread, if it is called by one.)
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
  detail::parallel_worker* const w = detail::this_parallel();
  if (w == nullptr || w->ready.current->flags.stoppable) [[unlikely]] {
    park_until(detail::never);
    return;
  }
  detail::wait_claim& permit = w->ready.current->permit;
  if (permit.is_open()) {
    detail::park_site site;
    detail::parallel_block(*w, site,
                           [](detail::fiber& self) { return self.permit.park(detail::parked_for_grant); });
  }
  permit.renew();
}

std::uint64_t id() noexcept;  // as of fiber
std::string_view name() noexcept;
void set_name(std::string_view name) noexcept;
// The worker that runs the fiber just now, from 0.
unsigned worker() noexcept;

}  // namespace this_fiber

}  // namespace sennit
