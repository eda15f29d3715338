// Sennit: `wheel` is only the wheel of deadlines that each worker has. See timers.hpp.
#include "timers.hpp"

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"
#include "sennit/detail/timer/timer_wheel.hpp"

namespace {

class wheel {
public:
  explicit wheel(std::size_t n) : nodes_(n) {}
  BENCH_INLINE void start(std::size_t i, bench::deadline_clock::time_point when) {
    wheel_.add(nodes_[i], when);
  }
  BENCH_INLINE void stop(std::size_t i) { wheel_.remove(nodes_[i]); }

private:
  sennit::detail::timer_wheel wheel_;
  std::vector<sennit::detail::timer_node> nodes_;
};

struct local : bench::sennit_local {
  class sleeper {
  public:
    void belongs_to(fiber& who) { who_ = &who.handle(); }
    BENCH_INLINE void wait() { sennit::local::this_fiber::park(); }
    BENCH_INLINE bool wait_until(bench::deadline_clock::time_point deadline) {
      return sennit::local::this_fiber::park_until(deadline);
    }
    BENCH_INLINE void wake() { who_->unpark(); }

  private:
    sennit::local::fiber* who_ = nullptr;
  };
  static BENCH_INLINE void sleep_until(bench::deadline_clock::time_point when) {
    sennit::local::this_fiber::sleep_until(when);
  }
  static unsigned worker() { return 0; }
};

struct parallel : bench::sennit_parallel {
  class sleeper {
  public:
    void belongs_to(fiber& who) { who_ = &who.handle(); }
    BENCH_INLINE void wait() { sennit::this_fiber::park(); }
    BENCH_INLINE bool wait_until(bench::deadline_clock::time_point deadline) {
      return sennit::this_fiber::park_until(deadline);
    }
    BENCH_INLINE void wake() { who_->unpark(); }

  private:
    sennit::fiber* who_ = nullptr;
  };
  static BENCH_INLINE void sleep_until(bench::deadline_clock::time_point when) {
    sennit::this_fiber::sleep_until(when);
  }
  static unsigned worker() { return sennit::this_fiber::worker(); }
};

}  // namespace

int main(int argc, char** argv) {
  bench::program program(
      argc, argv, bench::sennit_version,
      "park_until and unpark, sleep_until; 8 KiB pooled stacks; parallel on 1 worker: the second one is held",
      bench::timers_parameters());
  if (program.workers() == 1) {
    bench::measure_restart<wheel>(program, "wheel");
    if (program.wants("local"))
      local::run([&] { bench::measure_sleepers<local>(program, "local"); }, sennit::run_policy::fifo,
                 bench::timers_stack_size);
  }
  parallel::run(
      program.workers(), bench::second_worker::held,
      [&] { bench::measure_sleepers<parallel>(program, "parallel"); }, bench::timers_stack_size);
}
