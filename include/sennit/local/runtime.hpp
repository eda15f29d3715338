// sennit::local::runtime: fibers on one thread, without atomic operations between them.
// room: sched
//
//   sennit::local::runtime runtime;
//   int answer = runtime.run([] {
//     sennit::local::this_fiber::sleep_for(1ms);
//     return 42;
//   });
//
// Source: Dolan 2013, section 5 (the single-threaded library, "fiberS").
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <new>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include "sennit/detail/sched/registry.hpp"
#include "sennit/detail/sched/spawn.hpp"
#include "sennit/detail/sched/stop.hpp"
#include "sennit/detail/sched/watchdog.hpp"
#include "sennit/local/fiber.hpp"
#include "sennit/run_policy.hpp"

namespace sennit::local {

struct runtime_options {
  run_policy policy = run_policy::fifo;
  // Bytes, of fibers that do not ask for others; rounded as theirs.
  std::size_t stack_size = 64 * 1024;
  std::size_t guard_size = 64 * 1024;
  // As sennit::runtime_options::report_deadlock, of the whole process. run() waits forever when its fibers
  // wait for each other: another thread might post what wakes them. Not said of run_once(), whose caller may
  // know more, but where a fiber has the whole thread wait.
  std::optional<bool> report_deadlock = {};
  // As sennit::runtime_options::time_slice. A fiber that was made to yield may have the address of a
  // thread-local variable in a register: another thread is not to call run() next.
  std::chrono::nanoseconds time_slice{0};
  // The most fibers that may exist at a time; 0: no limit. Fibers that have ended count until they are joined
  // or detached. Beyond it, spawn and run() throw std::system_error (resource_unavailable_try_again), and
  // posts wait.
  std::size_t max_fibers = 0;
};

// One worker. The thread that calls run() or run_once() is the worker while the call lasts; it may be another
// one next time. Several runtimes may live in one process, one running per thread. Only post() may be called
// from other threads.
//
// While fibers are ready, it looks at posts, deadlines and I/O at least every 0.3 ms, or after a turn of a
// fiber that takes longer; with policy lifo after 61 turns, however long these take; and later at first, and
// once where turns that were quick become slow ones: after up to 488 turns. Who is woken by them then runs in
// its turn.
class runtime {
public:
  // Throws std::system_error or std::bad_alloc when descriptors, memory or mappings ran out, and (EINVAL) for
  // stacks and guards that are too large.
  explicit runtime(const runtime_options& options = {})
      : watchdog_({.deadlock = detail::deadlocks_to_report(options.report_deadlock)}),
        worker_(options.policy, detail::stack_shape_of(options.stack_size, options.guard_size)) {
    worker_.slice.set_length(options.time_slice);
    worker_.own_limit.most = options.max_fibers;
  }
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  // Fibers that have not ended are unwound: what they wait for throws through them, their destructors run. A
  // catch (...) in them must rethrow: if one goes on instead, this waits for it, and says so after two
  // seconds. So are those that they spawn on their way out, at their first wait.
  ~runtime() = default;

  // Runs `function` as a fiber and all others beside it, until it ends. Returns its result or throws what it
  // threw; sennit::cancelled, where that has left it, if there is a result to return. Fibers that are left
  // wait for the next run() or run_once(), or for the destructor. Not to be called inside of a fiber.
  template <class Function>
  detail::fiber_result<Function> run(Function&& function) {
    using result = detail::fiber_result<Function>;
    prepare_thread();  // before the fiber exists, which refers to the caller's variables
    if constexpr (std::is_void_v<result>) {
      finish(spawn(std::ref(function), {.name = "main"}));
    } else {
      std::optional<result> value;
      finish(spawn([&] { value.emplace(function()); }, {.name = "main"}));
      if (!value) [[unlikely]]
        detail::throw_cancelled();
      return std::move(*value);
    }
  }

  // Starts a fiber. On the runtime's thread, inside or outside of run().
  template <class Function>
  fiber spawn(Function&& function, const spawn_options& options = {}) {
    detail::fiber& f =
        detail::fiber_spawn(worker_, std::forward<Function>(function), detail::stack_wish_of(options), true);
    detail::fiber_set_name(f, options.name);
    return fiber(f);
  }

  // Has `function` run in a fiber of its own, soon, from any thread. Its exceptions terminate. Posts from one
  // thread start in their order; those that the runtime's end overtakes are dropped. Throws std::bad_alloc.
  // If there is no memory for the fiber's stack later, the post waits until there is. The runtime must
  // outlive the call.
  template <class Function>
  void post(Function&& function) {
    detail::worker_post(
        worker_, new posted_function<std::decay_t<Function>>(worker_, std::forward<Function>(function)));
  }

  // For embedding in another event loop: lets each fiber that is ready run once, more or less; if none is,
  // waits for one until `deadline` (steady clock; by default not at all; sennit::no_deadline: for as long as
  // it takes). True: fibers are ready to go on; call again soon. False: nothing to do until descriptor() is
  // readable.
  bool run_once(
      std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::min());

  // Polls readable (POLLIN) when run_once() has something to do. Owned by the runtime; only poll it.
  int descriptor() const noexcept { return worker_.driver->descriptor(); }

  // Fibers that have not ended. Counts them.
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

}  // namespace sennit::local
