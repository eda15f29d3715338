// sennit::runtime: fibers on all cores.
// room: runtime
//
//   sennit::runtime runtime;  // one worker thread for each CPU that the process may use
//   long result = runtime.run([] {
//     auto half = sennit::spawn_now([] { return work(1); });
//     work(2);
//     half.join();
//     return 42L;
//   });
//
// Source: Dolan 2013, section 5 (the parallel library) and 6.
#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/wait/wait.hpp"
#include "sennit/fiber.hpp"
#include "sennit/run_policy.hpp"

namespace sennit::inline v0_1 {

/// Options of a sennit::runtime. The defaults suit most programs.
struct runtime_options {
  /// The number of worker threads, 1 to 64. 0 means one for each CPU that affinity and cgroup quota allow,
  /// at most 64.
  unsigned workers = 0;
  /// The order in which each worker runs the fibers of its own queue.
  run_policy policy = run_policy::fifo;
  /// The stack size of fibers whose spawn_options do not set one, in bytes. It is rounded up to a power of
  /// two, at least 8 KiB.
  std::size_t stack_size = 64 * 1024;
  /// The size of the guard below those stacks, in bytes, rounded up to pages. See
  /// spawn_options::guard_size.
  std::size_t guard_size = 64 * 1024;

  /// How long a fiber may run while others are ready. After that it yields at its next check, and later
  /// resumes on the same worker. Checks exist only in code that is compiled with them
  /// (docs/explanation/preemption.md); other code is not interrupted.
  ///
  /// 0 means no limit. Values below 100 us count as 100 us. The constructor throws `std::system_error`
  /// (EINVAL) for a negative value. 10 ms is short enough for interactive programs. While a worker of such
  /// a runtime has fibers to run, a thread of the process wakes once per time slice.
  std::chrono::nanoseconds time_slice{0};

  /// Reports on standard error that a worker has run one fiber for this long without switching. Such a
  /// fiber computes without yielding, or it blocks the worker's thread, for example in a system call or on
  /// a pthread lock. 0 means never.
  ///
  /// \code
  /// sennit: runtime 1: worker 0 is stuck: it has run fiber 7 "parser" for 112 ms, and no other fiber
  ///   #0 parse_all()+0x4b (./server+0x8a31)
  /// \endcode
  ///
  /// Link the program with -rdynamic to get the names of functions.
  ///
  /// Each such run is reported once, up to an eighth of the time late, or 1 ms if that is longer. A thread
  /// of the process checks the workers while a runtime with this option exists, so that it also works if
  /// all workers are stuck. Fibers pay nothing for it. To take the backtrace, the worker's thread is
  /// interrupted by SIGURG. A system call that SA_RESTART does not restart, such as sleep or poll, then
  /// fails with EINTR. Time in which the process is stopped counts as well.
  std::chrono::nanoseconds report_stuck_after{0};

  /// Reports a deadlock on standard error, once: all fibers of the process wait, and no known event can
  /// wake one. The report names the cycle of joins and mutexes if there is one, and lists all fibers as
  /// sennit::dump prints them. It also names fibers that block the whole thread of a local runtime, for
  /// example by a `sennit::channel` where a `sennit::local::channel` is needed. Mutexes that are first locked
  /// while a runtime has this option record their owner.
  ///
  /// \code
  /// sennit: deadlock: all fibers wait, and nothing that could wake one is known to come
  /// cycle: fiber 5 "left" waits for the mutex at 0x7ffe3b10 held by fiber 6 "right" joins fiber 5
  /// sennit: 3 fibers
  /// ...
  /// \endcode
  ///
  /// The conditions are:
  /// - All workers of all runtimes have slept for at least 0.1 s.
  /// - A thread waits for a fiber without a deadline, for example in run(), in a join or for a
  ///   sennit::mutex.
  /// - No fiber or thread waits with a deadline, and no fiber is in sennit::offload.
  /// - No descriptor is open for which fibers have waited.
  /// - Each local runtime that has fibers is being run. A fiber that blocks the thread of its local runtime
  ///   also blocks the other fibers of that runtime, whatever they wait for.
  ///
  /// `true` also reports what is not certain: another thread may be about to wake or to post a fiber, while
  /// it waits for something that Sennit does not know, such as a pipe or a `std::condition_variable`.
  /// `false` reports nothing. Without a value, release builds report nothing. Debug builds report what is
  /// certain: a cycle, or a deadlock in a process without other threads, but nothing under ThreadSanitizer.
  /// NDEBUG at the place where the runtime is constructed decides between the two.
  ///
  /// A thread of the process wakes ten times a second for it, and mutexes that record their owner are
  /// slower. Before it prints, it stops all threads that run fibers for a moment, as sennit::dump does.
  ///
  /// Where deadlocks are reported, so are two other mistakes. A fiber that locks a sennit::mutex that it
  /// already holds ends the program with a message, instead of waiting for itself. A fiber that catches
  /// sennit::cancelled and waits again causes a message.
  std::optional<bool> report_deadlock = {};

  /// The maximum number of fibers at a time; 0 means no limit. The fiber of run() counts. Beyond it spawn(),
  /// run() and post() throw `std::system_error` (resource_unavailable_try_again). With several workers the
  /// limit is approximate: each worker may reuse the finished fibers that it keeps, at most 256.
  std::size_t max_fibers = 0;
};

/// Runs fibers on several workers, which steal ready fibers from each other. A worker is an OS thread. Use
/// a `sennit::local::runtime` for fibers that share one thread.
///
/// Any number of runtimes may exist in a process. All members may be called from any thread and from
/// fibers, except the destructor, which a fiber of the runtime must not call.
///
/// While fibers are ready, a worker polls for posts, deadlines and I/O at least every 0.3 ms, or after the
/// turn of a fiber that runs longer. With run_policy::lifo it polls after 61 turns, however long they take.
/// When it starts, and once when quick turns become slow, up to 488 turns may pass between two polls. A
/// fiber that is woken by a poll is queued and runs in its turn.
class runtime {
public:
  /// Starts the workers.
  ///
  /// \throws std::system_error if threads, descriptors or mappings are exhausted, or if an option has an
  ///   invalid value
  /// \throws std::bad_alloc if there is no memory
  explicit runtime(const runtime_options& options = {})
      : runtime(options, detail::deadlocks_to_report(options.report_deadlock)) {}
  /// A runtime is neither copied nor moved.
  runtime(const runtime&) = delete;
  /// A runtime is neither copied nor moved.
  runtime& operator=(const runtime&) = delete;

  /// Ends the workers. Fibers that have not ended are unwound on the calling thread, one after another:
  /// what they wait for throws through them, and their destructors run. A `catch (...)` in them must
  /// rethrow. If it does not, and the fiber continues, the destructor waits for that fiber. After two
  /// seconds it prints a message if the fiber waits for something of Sennit's, but not if the fiber
  /// computes or blocks its thread.
  ///
  /// \pre The caller is not a fiber of this runtime. No other thread wakes, joins or starts fibers of this
  ///   runtime any more.
  ~runtime() = default;

  /// Runs a function as a fiber named "main" and blocks the caller until it ends. The function may refer to
  /// the caller's variables. The wait cannot be cancelled: a stop_guard of the caller has no effect on it.
  ///
  /// \returns the function's result
  /// \throws sennit::cancelled if the function was left by that exception and has a result to return
  /// \throws any other exception that leaves the function, and what spawn() throws
  template <class Function>
  detail::fiber_result<Function> run(Function&& function) {
    using result = detail::fiber_result<Function>;
    if constexpr (std::is_void_v<result>) {
      wait_for(spawn(detail::callers_function{function}, {.name = "main"}));
    } else {
      std::optional<result> value;
      wait_for(spawn([&] { value.emplace(function()); }, {.name = "main"}));
      if (!value) [[unlikely]]
        detail::throw_cancelled();
      return std::move(*value);
    }
  }

  /// Starts a fiber of this runtime. Does not block. Throws as sennit::spawn; no fiber was started then.
  template <class Function>
  fiber spawn(Function&& function, const spawn_options& options = {}) {
    if (options.pinned)
      detail::parallel_must_have(shared_, *options.pinned);
    detail::fiber& f = detail::parallel_make(shared_, worker_here(), std::forward<Function>(function),
                                             detail::stack_request_of(options), true);
    detail::parallel_begin_as(shared_, worker_here(), f, options);  // to copy `function` may have blocked
    return fiber(f);
  }

  /// Starts a detached fiber. Does not block. An exception that leaves the function ends the program.
  /// Throws as spawn().
  template <class Function>
  void post(Function&& function) {
    spawn(std::forward<Function>(function)).detach();
  }

  /// \returns the number of workers
  unsigned workers() const noexcept { return static_cast<unsigned>(shared_.workers.size()); }

  /// \returns the number of fibers that have not ended. It counts them; fibers may start and end meanwhile.
  std::size_t size() const noexcept { return shared_.fibers(); }

private:
  runtime(const runtime_options& options, detail::deadlock_reports deadlocks);
  static void wait_for(fiber main);
  detail::parallel_worker* worker_here() const noexcept {
    detail::parallel_worker* w = detail::this_parallel();
    return w != nullptr && &w->runtime == &shared_ ? w : nullptr;
  }

  detail::parallel_runtime shared_;
};

}  // namespace sennit::inline v0_1
