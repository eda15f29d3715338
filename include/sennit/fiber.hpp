// sennit::fiber: a handle of a fiber of a parallel runtime, and the functions that a fiber calls for
// itself.
// room: runtime
//
//   sennit::runtime runtime;
//   runtime.run([] {
//     auto child = sennit::spawn([] { std::puts("child"); });
//     std::puts("parent");
//     child.join();
//   });
//
// A fiber moves from worker to worker: after a call that may block, yield or spawn_now, it may be on
// another thread. Do not keep what is bound to a thread across such a call: thread_local variables, pthread
// locks, std::this_thread::get_id(). errno, exceptions that are being handled, and Sennit's own state move
// with the fiber. Pin a fiber to a worker (spawn_options) if it needs a fixed thread.
// docs/explanation/migration.md says more. Debug builds report a fiber that waits while it holds a pthread
// lock.
//
// Source: Dolan 2013, section 5 (fibers); Mohr, Kranz, Halstead 1991, by way of Dolan (spawn_now).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/misuse.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"
#include "sennit/detail/wait/wait.hpp"

namespace sennit::inline v0_1 {

class runtime;

namespace detail {
struct handle_access;  // capi's
}

/// Options of one fiber.
struct spawn_options {
  /// For messages and debuggers. The first 31 bytes are copied.
  std::string_view name = {};
  /// The size of the stack in bytes, rounded up to a power of two, at least 8 KiB. 0 means the runtime's
  /// default. `small_stack()` (stacks.hpp) makes a value for less than 8 KiB.
  std::size_t stack_size = 0;
  /// The size of the guard below the stack in bytes, rounded up to pages. 0 means the runtime's default. A
  /// stack overflow ends the program with a report if no frame is larger than the guard, or if the code is
  /// compiled with -fstack-clash-protection. See docs/explanation/stacks.md.
  std::size_t guard_size = 0;
  /// Memory to use as the stack: 16-aligned, at least 1 KiB, without a guard. `stack_size` is then ignored.
  /// The memory is in use until a join of the fiber has returned. If the fiber was detached, it is in use
  /// until its runtime has ended, and for good if the fiber's stack was discarded. Invalid memory is
  /// asserted; without assertions the spawn throws `std::system_error` (EINVAL).
  std::span<std::byte> stack = {};
  /// The only worker that may run the fiber, numbered from 0.
  std::optional<unsigned> pinned = {};
  /// The worker at which the fiber begins, as a hint; other workers may steal it. Any number is valid: it
  /// is taken modulo the number of workers.
  std::optional<unsigned> near = {};
};

/// Owns the right to join one fiber. Move-only. The destructor detaches the fiber if it was not joined. An
/// exception that then leaves the fiber's function terminates the program, with the fiber's name.
///
/// One thread or fiber at a time may use a handle. It may be used anywhere, but not after its runtime has
/// ended.
class fiber {
public:
  /// An empty handle, which refers to no fiber.
  fiber() = default;
  /// Takes the fiber over from `other`, which is empty afterwards.
  fiber(fiber&& other) noexcept : fiber_(std::exchange(other.fiber_, nullptr)) {}
  /// Takes the fiber over from `other`, which is empty afterwards. The fiber that this handle referred to
  /// is detached.
  fiber& operator=(fiber&& other) noexcept {
    fiber taken(std::move(other));
    std::swap(fiber_, taken.fiber_);
    return *this;
  }
  /// Detaches the fiber if it was not joined.
  SENNIT_INLINE ~fiber() {
    if (fiber_ != nullptr)
      release(*fiber_);
  }

  /// \returns false if the handle is empty: joined, detached or moved from
  bool joinable() const noexcept { return fiber_ != nullptr; }

  /// Waits until the fiber has ended; the handle is empty afterwards. It may be called from fibers, of
  /// which only the caller waits, and from OS threads. If the fiber has not begun, and is one of the newest
  /// that are ready on the caller's worker, it runs next, past the others.
  ///
  /// \throws the exception that left the fiber's function
  /// \throws sennit::cancelled if a stop_guard ends the wait; the handle is still joinable
  /// \throws std::system_error (EINVAL) if the handle is empty; debug builds assert
  SENNIT_INLINE void join() {
    assert(fiber_ != nullptr &&
           "sennit: join of a handle that is empty: joined or detached before, or moved from");
    if (fiber_ == nullptr) [[unlikely]]
      detail::throw_empty_handle("join");
    if (fiber_->ended.load(std::memory_order_acquire) != detail::ended_already)
      detail::wait_for_end(*fiber_);
    collect();
  }

  /// Like join(), but gives up at a deadline.
  ///
  /// \returns false if the deadline passed first; the handle is still joinable
  bool join_until(std::chrono::steady_clock::time_point deadline);
  /// Like join(), but gives up at a time of any clock.
  template <class Clock, class Duration>
  bool join_until(const std::chrono::time_point<Clock, Duration>& time) {
    return detail::wait_by_clock(
        time, [this](std::chrono::steady_clock::time_point deadline) { return join_until(deadline); });
  }
  /// Like join(), but gives up after a duration.
  template <class Rep, class Period>
  bool join_for(std::chrono::duration<Rep, Period> time) {
    return join_until(detail::deadline_after(time));
  }

  /// Makes the handle empty; the fiber continues. Fatal if the handle is empty.
  void detach() noexcept {
    release(some());
    fiber_ = nullptr;
  }

  /// Lets the fiber's park() return: the current one, or else the next one. Does not block. Fatal if the
  /// handle is empty.
  void unpark() noexcept;

  /// The fiber's number, at least 1. It is assigned when it is first asked for or printed. It is unique in
  /// the process until 2^32 numbers have been assigned. Fatal if the handle is empty.
  std::uint64_t id() const noexcept { return detail::fiber_id(some()); }
  /// The fiber's name, or an empty string. While a fiber blocks without a stack (become.hpp), it must not
  /// be able to resume, or to block in this way, on another thread during the call. Fatal if the handle is
  /// empty.
  std::string_view name() const noexcept { return detail::fiber_name(some()); }

private:
  friend class runtime;
  friend struct detail::join_access;
  friend struct detail::handle_access;
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
    if (done.flags.slow_path) [[unlikely]]
      collect_slow(done);
    else
      detail::recycle_local(done);
  }
  [[gnu::cold]] static void collect_slow(detail::fiber& done);
  static void release(detail::fiber& f) noexcept;
  detail::fiber& some() const noexcept {
    if (fiber_ == nullptr) [[unlikely]]
      detail::fatal_empty_handle("use");
    return *fiber_;
  }

  detail::fiber* fiber_ = nullptr;
};

namespace detail {
[[gnu::cold]] void parallel_must_have(const parallel_runtime& of, unsigned number);
[[gnu::cold]] void parallel_begin_as(parallel_runtime& of, parallel_worker* w, fiber& f,
                                     const spawn_options& options) noexcept;
}  // namespace detail

/// Starts a fiber of the caller's runtime. The fiber is queued, and the caller continues. The function is
/// called on the new fiber's stack without arguments; its result is ignored.
///
/// The fiber gets its stack when it first runs. Until then it takes 128 bytes, and the function if that is
/// larger than 48 bytes. It gets its stack at once if it has a name, or if moving the function may throw. If
/// there is no memory for the stack when the fiber first runs, it waits until another fiber's stack is free.
/// If no fiber of the runtime can free one, it fails: join() throws std::system_error (ENOMEM).
///
/// The function is moved to the stack there. Its move constructor and destructor must not block or yield;
/// debug builds report it.
///
/// Only fibers of a sennit::runtime may call it; elsewhere it is fatal. `sennit::runtime::spawn()` may be
/// called anywhere.
///
/// \throws std::system_error or std::bad_alloc if memory, mappings or the runtime's fibers
///   (`runtime_options::max_fibers`) are exhausted; no fiber was started
template <class Function>
SENNIT_INLINE fiber spawn(Function&& function) {
  detail::parallel_worker* w = &detail::running_parallel_for("spawn");
  detail::parallel_runtime& of = w->runtime;
  detail::fiber& f = detail::parallel_make(of, w, std::forward<Function>(function), {}, true);
  if constexpr (detail::may_block_to_copy<Function>)
    w = detail::this_parallel();
  if (!of.forces_migration) [[likely]]
    detail::parallel_push(*w, f);
  else
    detail::parallel_begin_as(of, w, f, {});  // constructed only where they are used
  return fiber(f);
}
/// Starts a fiber with options. Otherwise like spawn(function).
///
/// \throws std::system_error also (EINVAL) if it is to be pinned to a worker that does not exist
template <class Function>
SENNIT_INLINE fiber spawn(Function&& function, const spawn_options& options) {
  detail::parallel_worker* w = &detail::running_parallel_for("spawn");
  detail::parallel_runtime& of = w->runtime;
  if (options.pinned) [[unlikely]]
    detail::parallel_must_have(of, *options.pinned);
  detail::fiber& f =
      detail::parallel_make(of, w, std::forward<Function>(function), detail::stack_request_of(options), true);
  if constexpr (detail::may_block_to_copy<Function>)
    w = detail::this_parallel();
  if (options.name.empty() && !options.pinned && !options.near && !of.forces_migration) [[likely]]
    detail::parallel_push(*w, f);
  else
    detail::parallel_begin_as(of, w, f, options);
  return fiber(f);
}

/// Starts a fiber without a stack, as if its function had just returned `begins` (become.hpp).
///
/// \pre `begins` is not empty.
/// \throws std::bad_alloc if there is no memory
fiber spawn(continuation begins);

/// Starts a fiber and runs it at once, like a call. The caller resumes when the new fiber ends or blocks,
/// or earlier on another worker. Otherwise like spawn().
///
/// Use it for divide and conquer: spawned work runs first, so that few fibers exist at a time, and other
/// workers steal the rest of the callers' work.
template <class Function>
SENNIT_INLINE fiber spawn_now(Function&& function) {
  detail::parallel_worker& w = detail::running_parallel_for("spawn_now");
  detail::fiber& f = detail::parallel_make(w.runtime, &w, std::forward<Function>(function), 0, true);
  fiber started(f);  // first, because the caller may be unwound in parallel_enter_new
  detail::parallel_enter_new(detail::may_block_to_copy<Function> ? detail::running_parallel() : w, f);
  return started;
}

/// Functions that a fiber calls for itself. They are for fibers of a sennit::runtime: elsewhere they are
/// fatal, except for sleeping. Fibers of a local runtime use sennit::local::this_fiber. A wait throws
/// sennit::cancelled if a stop_guard ends it.
namespace this_fiber {

/// Lets other ready fibers of this worker run before the caller resumes. errno is not preserved.
SENNIT_INLINE void yield() {
  detail::parallel_yield(detail::running_parallel_for("this_fiber::yield"));
}

/// Blocks the calling fiber until a time. An OS thread, or a fiber of a local runtime, blocks its thread.
void sleep_until(std::chrono::steady_clock::time_point deadline);
/// Blocks the calling fiber until a time of any clock, however that clock is set meanwhile.
template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration>& time) {
  do
    sleep_until(detail::deadline_after(detail::time_until(time)));
  while (detail::time_until(time) > std::chrono::nanoseconds::zero());
}
/// Blocks the calling fiber for a duration.
template <class Rep, class Period>
void sleep_for(std::chrono::duration<Rep, Period> time) {
  sleep_until(detail::deadline_after(time));
}

/// Like park(), but gives up at a deadline.
///
/// \returns false if the deadline passed first
bool park_until(std::chrono::steady_clock::time_point deadline);
/// Like park(), but gives up at a time of any clock.
template <class Clock, class Duration>
bool park_until(const std::chrono::time_point<Clock, Duration>& time) {
  return detail::wait_by_clock(time, [](std::chrono::steady_clock::time_point at) { return park_until(at); });
}
/// Like park(), but gives up after a duration.
template <class Rep, class Period>
bool park_for(std::chrono::duration<Rep, Period> time) {
  return park_until(detail::deadline_after(time));
}
/// Blocks until unpark() is called on this fiber's handle. Returns at once if that has happened since the
/// last park.
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

/// The calling fiber's number. See fiber::id().
std::uint64_t id() noexcept;
/// The calling fiber's name, or an empty string.
std::string_view name() noexcept;
/// Names the calling fiber, for messages and debuggers. The first 31 bytes are copied.
void set_name(std::string_view name) noexcept;
/// The number of the worker that runs the calling fiber at the moment, from 0.
unsigned worker() noexcept;

}  // namespace this_fiber

}  // namespace sennit::inline v0_1
