// Sennit's parallel runtime, as the workloads use a library of threads: its defaults.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <semaphore>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"
#include "bare_mutex_condition.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/mutex.hpp"
#include "sennit/runtime.hpp"

namespace bench {

/// What the second worker does when one is measured. There always is a second one, so nothing is elided for
/// lack of others.
enum class second_worker {
  /// Sleeps, as the runtime has it. For workloads that never have a ready fiber besides the running one: had
  /// they, it would come and take it.
  sleeps,
  /// Is held by a fiber of its own, which is in a system call all the time. For all other workloads, and
  /// where
  /// callgrind counts instructions.
  held,
};

class sennit_parallel {
public:
  /// Runs `main` as a fiber, on a runtime of `workers`.
  template <class Main>
  static void run(unsigned workers, second_worker second, Main&& main, std::size_t stack_size = 64 * 1024,
                  sennit::run_policy policy = sennit::run_policy::fifo) {
    sennit::runtime runtime(
        {.workers = workers == 1 ? 2 : workers, .policy = policy, .stack_size = stack_size});
    std::optional<holder> held;
    if (workers == 1 && (second == second_worker::held || counts_instructions()))
      held.emplace(runtime);

    std::binary_semaphore ended(0);
    const auto run_main = [&] {
      main();
      ended.release();
    };
    sennit::fiber runs = runtime.spawn(run_main, {.stack_size = 256 * 1024});  // it prints
    ended.acquire();
    runs.join();
  }

  class fiber {
  public:
    BENCH_INLINE explicit fiber(entry start, void* argument)
        : fiber_(sennit::spawn([start, argument] { start(argument); })) {}
    fiber(entry start, void* argument, std::size_t stack_size)
        : fiber_(sennit::spawn([start, argument] { start(argument); }, {.stack_size = stack_size})) {}
    BENCH_INLINE void join() { fiber_.join(); }

    /// For its waker.
    sennit::fiber& handle() { return fiber_; }

  private:
    sennit::fiber fiber_;
  };

  static BENCH_INLINE void yield() { sennit::this_fiber::yield(); }

  using mutex = sennit::mutex;

  using condition_variable = bare_mutex_condition<sennit::condition_variable, mutex>;

private:
  /// Keeps worker 1 in a system call.
  class holder {
  public:
    explicit holder(sennit::runtime& runtime)
        : fiber_(runtime.spawn(
              [this] {
                holds_.release();
                over_.acquire();
              },
              {.name = "holder", .pinned = 1})) {
      holds_.acquire();
    }
    ~holder() {
      over_.release();
      fiber_.join();
    }

  private:
    std::binary_semaphore holds_{0};
    std::binary_semaphore over_{0};
    sennit::fiber fiber_;
  };
};

}  // namespace bench
