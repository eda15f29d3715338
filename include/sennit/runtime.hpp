// sennit::runtime: fibers on every core.
// room: sched
//
//   sennit::runtime runtime;  // a worker thread for each CPU that the process may use
//   long result = runtime.run([] {
//     auto half = sennit::spawn_now([] { return work(1); });
//     work(2);
//     half.join();
//     return 42L;
//   });
//
// Source: Dolan 2013, section 5 (the parallel library) and 6.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "sennit/detail/sched/wait.hpp"
#include "sennit/fiber.hpp"
#include "sennit/run_policy.hpp"

namespace sennit {

struct runtime_options {
  unsigned workers = 0;  // 1 to 64; 0: one for each CPU that affinity and cgroup quota allow (at most 64)
  run_policy policy = run_policy::fifo;  // each worker's, for what is in its own queue
  // Bytes, of fibers that do not ask for others; rounded as theirs.
  std::size_t stack_size = 64 * 1024;
  std::size_t guard_size = 64 * 1024;

  // How long a fiber may run while others could, before it is made to yield: at its next check, in code that
  // is compiled for that (docs/compiler.md); other code does not notice. 0: as long as it likes; less is
  // refused by std::system_error (EINVAL). 10 ms does for people who wait; a thread of the process wakes
  // that often, as long as a worker of such a runtime has fibers to run. Less than 100 us is taken for 100
  // us. A fiber that is made to yield goes on on the same worker.
  std::chrono::nanoseconds time_slice{0};

  // Says on standard error when a worker has run one fiber for so long without a dispatch: the fiber neither
  // yields nor blocks but computes, or blocks the worker's thread (a system call, a pthread lock). 0: never.
  //
  //   sennit: runtime 1: worker 0 is stuck: it has run fiber 7 "parser" for 112 ms, and nobody else
  //     #0 parse_all()+0x4b (./server+0x8a31)
  //
  // Functions are named if the program is linked with -rdynamic.
  // Once for each such run, up to an eighth of the time late (at least 1 ms). A thread of the process looks,
  // as long as a runtime has this option; fibers do nothing for it, and it works when all workers are stuck.
  // For the backtrace the worker's thread is stopped by SIGURG for a moment: a system call that no SA_RESTART
  // saves (sleep, poll, ...) ends with EINTR there. Time in which the process is stopped counts, too.
  std::chrono::nanoseconds report_stuck_after{0};

  // Says on standard error, once, when all fibers of the process wait and nothing that could wake one is
  // known to come: a cycle of joins and mutexes, if there is one, who has the whole thread of a local runtime
  // wait (by a sennit::channel where it needs a sennit::local::channel), and all fibers as sennit::dump
  // prints them. (Mutexes that are first locked while a runtime has this option note who holds them.)
  //
  //   sennit: deadlock: all fibers wait, and nothing that could wake one is known to come
  //   cycle: fiber 5 "left" waits for the mutex at 0x7ffe3b10 held by fiber 6 "right" joins fiber 5
  //   sennit: 3 fibers
  //   ...
  //
  // That is so when all workers of all runtimes have slept for a tenth of a second, at least; a thread waits
  // for a fiber without a deadline (in run(), or a join, or for a sennit::mutex, ...); and there is no fiber
  // or thread that waits with one, no fiber in sennit::offload, no descriptor that fibers have waited for and
  // that is still open, and no local runtime with fibers that nobody runs just now. (While a fiber has a
  // local runtime's thread wait, nothing wakes the others of that runtime, whatever they wait for.)
  //
  // `true` reports although it cannot be certain: another thread, which waits for something that Sennit does
  // not know (a pipe, a std::condition_variable), may be about to wake a fiber or to post one. `false`
  // reports nothing. Without a value, release builds (NDEBUG is defined where the runtime is made) report
  // nothing, and debug builds report what is certain: a cycle, or a deadlock in a process without other
  // threads (with ThreadSanitizer: nothing).
  //
  // It costs a thread of the process that wakes ten times a second, and mutexes that note their holder are
  // slower. Before it prints, it stops all threads that run fibers for a moment, as sennit::dump does.
  //
  // The runtime reports two more mistakes where it reports deadlocks. A fiber that locks a sennit::mutex
  // again that it holds ends the program with a message, instead of waiting for itself. A fiber that catches
  // sennit::cancelled and waits again causes a message.
  std::optional<bool> report_deadlock = {};

  // The most fibers that may exist at a time; 0: no limit. Beyond it, spawn throws std::system_error
  // (resource_unavailable_try_again), and so do run() and post(). With several workers it is an approximate
  // limit: each worker may use again the finished fibers that it keeps, at most 256.
  std::size_t max_fibers = 0;
};

// Some workers, each an OS thread of its own, that run fibers and take them from each other. Any number of
// runtimes may live in one process. All members may be called from any thread, and from fibers.
//
// While fibers are ready, a worker looks at posts, deadlines and I/O at least every 0.3 ms, or after a turn
// of a fiber that takes longer; with policy lifo after 61 turns, however long these take; and later at first,
// and once where turns that were quick become slow ones: after up to 488 turns. Who is woken by them then
// runs in its turn.
class runtime {
public:
  // Throws std::system_error or std::bad_alloc when threads, descriptors, memory or mappings ran out, or the
  // options ask for what cannot be.
  explicit runtime(const runtime_options& options = {})
      : runtime(options, detail::deadlocks_to_report(options.report_deadlock)) {}
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  // Ends the workers; fibers that have not ended are then unwound on the calling thread, one after another:
  // what they wait for throws through them, their destructors run. A catch (...) in them must rethrow: if one
  // goes on instead, this waits for it, and reports it after two seconds if it waits for something of
  // Sennit's (not if it computes, or blocks its thread). Not to be called by a fiber of its
  // own; nor may anybody outside wake, join or start its fibers any more.
  ~runtime() = default;

  // Runs `function` as a fiber and waits until it ends, whatever stop_guards the caller has: `function` may
  // refer to the caller's variables. Returns its result or throws what it threw; sennit::cancelled, where
  // that has left it, if there is a result to return.
  template <class Function>
  detail::fiber_result<Function> run(Function&& function) {
    using result = detail::fiber_result<Function>;
    if constexpr (std::is_void_v<result>) {
      wait_for(spawn(std::ref(function), {.name = "main"}));
    } else {
      std::optional<result> value;
      wait_for(spawn([&] { value.emplace(function()); }, {.name = "main"}));
      if (!value) [[unlikely]]
        detail::throw_cancelled();
      return std::move(*value);
    }
  }

  // Starts a fiber. Throws as sennit::spawn.
  template <class Function>
  fiber spawn(Function&& function, const spawn_options& options = {}) {
    if (options.pinned)
      detail::parallel_must_have(shared_, *options.pinned);
    detail::fiber& f = detail::parallel_make(shared_, worker_here(), std::forward<Function>(function),
                                             detail::stack_wish_of(options), true);
    detail::parallel_begin_as(shared_, worker_here(), f, options);  // to copy `function` may have blocked
    return fiber(f);
  }

  // Has `function` run in a fiber of its own, soon. Its exceptions terminate. Throws as spawn.
  template <class Function>
  void post(Function&& function) {
    spawn(std::forward<Function>(function)).detach();
  }

  unsigned workers() const noexcept { return static_cast<unsigned>(shared_.workers.size()); }

  // Fibers that have not ended. Counts them; they come and go meanwhile.
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

}  // namespace sennit
