// sennit::local::runtime: fibers on one thread, without atomic operations between them.
// room: runtime
//
//   sennit::local::runtime runtime;
//   int answer = runtime.run([] {
//     sennit::local::this_fiber::sleep_for(1ms);
//     return 42;
//   });
//
// Source: Dolan 2013, section 5 (the single-threaded library, "fiberS").
#pragma once

#include <concepts>
#include <cstddef>
#include <new>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include "sennit/detail/sched/registration.hpp"
#include "sennit/detail/sched/spawn.hpp"
#include "sennit/detail/sched/watchdog.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/wait/stop.hpp"
#include "sennit/local/fiber.hpp"
#include "sennit/run_policy.hpp"

namespace sennit::inline v0_1::local {

/// Options of a sennit::local::runtime.
struct runtime_options {
  /// The order in which fibers run.
  run_policy policy = run_policy::fifo;
  /// The stack size of fibers whose spawn_options do not set one, in bytes. It is rounded up to a power of
  /// two, at least 8 KiB.
  std::size_t stack_size = 64 * 1024;
  /// The size of the guard below those stacks, in bytes, rounded up to pages. See
  /// spawn_options::guard_size.
  std::size_t guard_size = 64 * 1024;
  /// Like sennit::runtime_options::report_deadlock; the report is about the whole
  /// process. run() waits forever if its fibers wait for each other: another thread might post what wakes
  /// them. In run_once() only a fiber that blocks the whole thread is reported: the caller may know more.
  std::optional<bool> report_deadlock = {};
  /// Like sennit::runtime_options::time_slice. Another thread must not call run() next, because a fiber
  /// that was made to yield may have the address of a thread-local variable in a register.
  std::chrono::nanoseconds time_slice{0};
  /// The maximum number of fibers at a time; 0 means no limit. The fiber of run() counts. Fibers that have
  /// ended count until they are joined or detached. Beyond it, spawn and run() throw `std::system_error`
  /// (resource_unavailable_try_again), and posts wait.
  std::size_t max_fibers = 0;
};

/// Runs fibers on one thread, without atomic operations between them. The thread that calls run() or
/// run_once() is the worker while the call lasts. It may be another thread next time. Several local
/// runtimes may exist in a process, and each thread runs one at a time. Only post() may be called from
/// other threads.
///
/// While fibers are ready, the runtime polls for posts, deadlines and I/O at least every 0.3 ms, or after
/// the turn of a fiber that runs longer. With run_policy::lifo it polls after 61 turns, however long they
/// take. When it starts, and once when quick turns become slow, up to 488 turns may pass between two polls.
/// A fiber that is woken by a poll is queued and runs in its turn.
///
/// Source: Dolan 2013, section 5.
class runtime {
public:
  /// Prepares the runtime; no thread is started.
  ///
  /// \throws std::system_error if descriptors or mappings are exhausted, or (EINVAL) if a stack or guard
  ///   size is too large
  /// \throws std::bad_alloc if there is no memory
  explicit runtime(const runtime_options& options = {})
      : watchdog_({.deadlock = detail::deadlocks_to_report(options.report_deadlock)}),
        worker_(options.policy, detail::stack_shape_of(options.stack_size, options.guard_size)) {
    worker_.slice.set_length(options.time_slice);
    worker_.own_limit.most = options.max_fibers;
  }
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Unwinds fibers that have not ended: what they wait for throws through them, and their destructors run.
  /// A `catch (...)` in them must rethrow. If it does not, and the fiber continues, the destructor waits
  /// for that fiber, and prints a message after two seconds. Fibers that are spawned meanwhile are unwound
  /// at their first wait.
  ///
  /// \pre The runtime does not run, and the caller is not a fiber.
  ~runtime() = default;

  /// Runs a function as a fiber named "main", together with all other fibers, until the function ends.
  /// Other fibers that are left wait for the next run() or run_once(), or for the destructor. Must not be
  /// called inside a fiber.
  ///
  /// \returns the function's result
  /// \throws sennit::cancelled if the function was left by that exception and has a result to return
  /// \throws any other exception that leaves the function
  template <class Function>
  detail::fiber_result<Function> run(Function&& function) {
    using result = detail::fiber_result<Function>;
    prepare_thread();  // before the fiber exists, which refers to the caller's variables
    if constexpr (std::is_void_v<result>) {
      finish(spawn(detail::callers_function{function}, {.name = "main"}));
    } else {
      std::optional<result> value;
      finish(spawn([&] { value.emplace(function()); }, {.name = "main"}));
      if (!value) [[unlikely]]
        detail::throw_cancelled();
      return std::move(*value);
    }
  }

  /// Starts a fiber of this runtime. It may be called on the runtime's thread, inside or outside of run().
  /// Throws as sennit::local::spawn.
  template <class Function>
  fiber spawn(Function&& function, const spawn_options& options = {}) {
    detail::fiber& f = detail::fiber_spawn(worker_, std::forward<Function>(function),
                                           detail::stack_request_of(options), true);
    if (!options.name.empty())
      detail::fiber_set_name(f, options.name);
    return fiber(f);
  }

  /// Starts a detached fiber, from any thread. Does not wait. Posts of one thread start in their order. An
  /// exception that leaves the function ends the program.
  ///
  /// The runtime must outlive the call. Functions that are still posted when it ends are dropped. If there
  /// is no memory for the fiber or its stack, the post waits until there is.
  ///
  /// \throws std::bad_alloc if there is no memory
  template <class Function>
  void post(Function&& function) {
    detail::worker_post(
        worker_, new posted_function<std::decay_t<Function>>(worker_, std::forward<Function>(function)));
  }

  /// For embedding in another event loop: lets each ready fiber run about once. If none is ready, it waits
  /// for one until the deadline: by default not at all, with sennit::no_deadline without limit.
  ///
  /// \returns true if fibers are ready, so that it should be called again soon; false if there is nothing
  ///   to do until descriptor() is readable
  bool run_once(
      std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::min());

  /// A file descriptor that polls readable (POLLIN) when run_once() has work. The runtime owns it; only
  /// poll it.
  int descriptor() const noexcept { return worker_.driver->descriptor(); }

  /// \returns the number of fibers that have not ended. It counts them.
  std::size_t size() const noexcept { return detail::fiber_count(worker_); }

private:
  template <class Function>
  struct posted_function final : detail::posted {
    template <class Source>
    posted_function(detail::worker& w, Source&& source) : to(w), function(std::forward<Source>(source)) {
      makes_fiber = true;
    }
    bool run() override {
      try {
        if (!to.unwinding)
          detail::fiber_spawn(to, std::move(function), 0, false);
      } catch (const std::bad_alloc&) {
        return false;
      } catch (const std::system_error&) {  // no mapping for its stack
        return false;
      }
      delete this;
      return true;
    }
    detail::worker& to;
    Function function;
  };

  // Throws std::system_error if the calling thread cannot have an alternate signal stack.
  static void prepare_thread();
  void finish(fiber main);

  const detail::watchdog_use watchdog_;
  detail::worker worker_;
  const detail::registration known_{worker_};
};

}  // namespace sennit::inline v0_1::local
