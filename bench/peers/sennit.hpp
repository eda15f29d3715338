// Sennit's local runtime, as the workloads use a library of threads: its defaults.
#pragma once

#include "../support/distinct.hpp"
#include "bare_mutex_condition.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/local/runtime.hpp"

namespace bench {

inline constexpr const char* sennit_version = "this checkout";

struct sennit_local {
  template <class Main>
  static void run(Main&& main, sennit::run_policy policy = sennit::run_policy::fifo,
                  std::size_t stack_size = 64 * 1024) {
    sennit::local::runtime({.policy = policy, .stack_size = stack_size}).run(main);
  }

  class fiber {
  public:
    BENCH_INLINE explicit fiber(entry start, void* argument)
        : fiber_(sennit::local::spawn([start, argument] { start(argument); })) {}
    fiber(entry start, void* argument, std::size_t stack_size)
        : fiber_(sennit::local::spawn([start, argument] { start(argument); }, {.stack_size = stack_size})) {}
    BENCH_INLINE void join() { fiber_.join(); }

    /// For its waker.
    sennit::local::fiber& handle() { return fiber_; }

  private:
    sennit::local::fiber fiber_;
  };

  static BENCH_INLINE void yield() { sennit::local::this_fiber::yield(); }

  using mutex = sennit::local::mutex;

  using condition_variable = bare_mutex_condition<sennit::local::condition_variable, mutex>;
};

}  // namespace bench
