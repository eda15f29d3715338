// sennit::local::fiber: a handle of a fiber of a local runtime, and the functions that a fiber calls for
// itself.
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

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/misuse.hpp"
#include "sennit/detail/sched/spawn.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"

namespace sennit::inline v0_1::detail {
struct handle_access;  // capi's
}

namespace sennit::inline v0_1::local {

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
};

/// Like sennit::fiber: owns the right to join one fiber of a local runtime. Move-only. The destructor
/// detaches the fiber if it was not joined; the fiber then continues whenever its runtime runs. An
/// exception that then leaves the fiber's function terminates the program, with the fiber's name.
///
/// Handles may be used only on their runtime's thread, and not after the runtime has ended.
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

  /// Waits until the fiber has ended; the handle is empty afterwards. Only fibers of the same runtime may
  /// wait. If the fiber has not begun, it runs next, past others that are ready.
  ///
  /// \pre No other fiber joins this one.
  /// \throws the exception that left the fiber's function
  /// \throws sennit::cancelled if a stop_guard ends the wait; the handle is still joinable
  /// \throws std::system_error (EINVAL) if the handle is empty; debug builds assert
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

  /// Like join(), but gives up at a deadline.
  ///
  /// \returns false if the deadline passed first; the handle is still joinable
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

  /// Lets the fiber's park() return: the current one, or else the next one. Does not block.
  ///
  /// \pre The handle is not empty. Debug builds assert it.
  void unpark() noexcept {
    // In release builds, a test took a hop round a ring of continuations from 10 to 18 ns.
    assert(fiber_ != nullptr && "sennit: unpark of an empty handle");
    detail::fiber_unpark(*fiber_);
  }

  /// The fiber's number, at least 1. It is assigned when it is first asked for or printed. It is unique in
  /// the process until 2^32 numbers have been assigned. Fatal if the handle is empty.
  std::uint64_t id() const noexcept { return detail::fiber_id(some()); }
  /// The fiber's name, or an empty string. Fatal if the handle is empty.
  std::string_view name() const noexcept { return detail::fiber_name(some()); }

private:
  friend class runtime;
  friend struct detail::join_access;
  friend struct detail::handle_access;
  template <class Function>
  friend fiber spawn(Function&& function, const spawn_options& options);
  template <class Function>
  friend fiber spawn_now(Function&& function);
  friend fiber spawn(continuation begins);

  SENNIT_INLINE explicit fiber(detail::fiber& f) noexcept : fiber_(&f) {}
  /// Returns the fiber when it has ended, null when the deadline has passed, and `detail::shutdown_sentinel`
  /// when the caller is to be unwound. The fiber passes its own address to its joiner in the register that
  /// the switch hands over, so that nothing waits for the joiner's stack to be read.
  SENNIT_INLINE detail::fiber* wait(detail::time_point deadline) {
    detail::worker& w = detail::running_worker(detail::join_reason);
    assert(fiber_->joiner == nullptr && "sennit: two fibers join one");
    assert(fiber_ != w.ready.current && "sennit: a fiber joins itself, and so would wait for ever");
    if (deadline == detail::never)
      return &detail::park_joining(w, *fiber_);
    w.ready.bring_forward(*w.ready.current, *fiber_);
    fiber_->joiner = w.ready.current;
    detail::park_until(w, detail::fiber_status::joining, {detail::join_reason, fiber_}, deadline);
    return fiber_->flags.status == detail::fiber_status::finished ? fiber_ : nullptr;
  }
  /// `done` is the result of wait().
  SENNIT_INLINE void collect(detail::fiber& done) {
    if (done.flags.slow_path) [[unlikely]] {
      detail::throw_if_shutting_down(done);
      fiber_ = nullptr;
      collect_slow(done);
    } else {
      fiber_ = nullptr;
      detail::recycle_fiber(*detail::this_worker(), done);
    }
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

/// Starts a fiber of the caller's runtime. The fiber is queued, and the caller continues. The function is
/// called on the new fiber's stack without arguments; its result is ignored. Only fibers of a local runtime
/// may call it; elsewhere it is fatal.
///
/// The fiber gets its stack when it first runs. sennit::spawn (fiber.hpp) says what it takes until then, and
/// what happens if there is no memory for the stack.
///
/// \throws std::system_error or std::bad_alloc if memory, mappings or the runtime's fibers
///   (`runtime_options::max_fibers`) are exhausted; no fiber was started
template <class Function>
SENNIT_INLINE fiber spawn(Function&& function, const spawn_options& options) {
  detail::worker* w = detail::this_worker();
  if (w == nullptr) [[unlikely]]
    detail::no_fiber_here("spawn");
  assert(w->ready.running() &&
         "sennit: a spawn where no fiber runs, as in the destructor of what was posted");
  detail::fiber& f =
      detail::fiber_begin(*w, std::forward<Function>(function), detail::stack_request_of(options), true);
  w->ready.add_by_running(&f);
  if (!options.name.empty()) [[unlikely]]
    detail::fiber_set_name(f, options.name);
  return fiber(f);
}
/// Starts a fiber with default options.
template <class Function>
SENNIT_INLINE fiber spawn(Function&& function) {
  return spawn(std::forward<Function>(function), spawn_options{});
}

/// Starts a fiber and runs it at once, like a call. The caller resumes when the new fiber ends or blocks, or
/// behind the other ready fibers if these have not had a turn for a while. Otherwise like spawn().
template <class Function>
SENNIT_INLINE fiber spawn_now(Function&& function) {
  detail::worker& w = detail::running_worker("spawn_now");
  detail::fiber& f = detail::fiber_begin(w, std::forward<Function>(function), 0, true);
  fiber started(f);  // first, because the caller may be unwound in enter_new
  detail::enter_new(w, f);
  return started;
}

/// Starts a fiber without a stack, as if its function had just returned `begins` (become.hpp).
///
/// \pre `begins` is not empty.
/// \throws std::bad_alloc if there is no memory
fiber spawn(continuation begins);

/// Functions that a fiber of a local runtime calls for itself. Elsewhere they are fatal. A wait throws
/// sennit::cancelled if a stop_guard ends it.
namespace this_fiber {

/// Lets every other ready fiber run before the caller resumes, in the order of the runtime's policy. errno
/// is not preserved.
SENNIT_INLINE void yield() {
  detail::yield();
}

/// Blocks the calling fiber until a time.
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
  detail::worker* const w = detail::this_worker();
  if (w == nullptr || !w->ready.running() || w->ready.current->flags.unpark_pending) [[unlikely]] {
    park_until(detail::never);
    return;
  }
  detail::park(*w, detail::fiber_status::unpark, "park");
  detail::current_fiber().flags.unpark_pending = false;
}

/// The calling fiber's number. See fiber::id().
std::uint64_t id() noexcept;
/// The calling fiber's name, or an empty string.
std::string_view name() noexcept;
/// Names the calling fiber, for messages and debuggers. The first 31 bytes are copied.
void set_name(std::string_view name) noexcept;

}  // namespace this_fiber

}  // namespace sennit::inline v0_1::local
