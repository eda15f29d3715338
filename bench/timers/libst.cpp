// State Threads, which keeps its sleepers in a heap. A thread waits asleep, and its waker interrupts it, as
// in threadring. See timers.hpp.
#include "../peers/libst.hpp"
#include "timers.hpp"

namespace {

struct library : bench::state_threads<bench::idiom> {
  class sleeper {
  public:
    void belongs_to(fiber&) {}
    BENCH_INLINE void wait() { wait_for(ST_UTIME_NO_TIMEOUT); }
    BENCH_INLINE bool wait_until(bench::deadline_clock::time_point deadline) {
      return wait_for(microseconds_until(deadline));
    }
    BENCH_INLINE void wake() {
      woken_ = true;
      if (owner_ != nullptr)
        st_thread_interrupt(owner_);
    }

  private:
    BENCH_INLINE bool wait_for(st_utime_t time) {
      owner_ = st_thread_self();
      if (!woken_)
        st_usleep(time);
      owner_ = nullptr;
      return std::exchange(woken_, false);
    }
    st_thread_t owner_ = nullptr;  // while it waits
    bool woken_ = false;
  };

  static BENCH_INLINE void sleep_until(bench::deadline_clock::time_point when) {
    st_usleep(microseconds_until(when));
  }
  static unsigned worker() { return 0; }

private:
  static st_utime_t microseconds_until(bench::deadline_clock::time_point when) {
    const auto left = std::chrono::ceil<std::chrono::microseconds>(when - bench::deadline_clock::now());
    return static_cast<st_utime_t>(std::max<std::int64_t>(left.count(), 1));
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, library::version(),
                         "st_usleep, st_thread_interrupt to wake; a heap of sleepers; 8 KiB stacks",
                         bench::timers_parameters());
  program.require_one_worker("State Threads has one kernel thread");
  library::run([&] { bench::measure_sleepers<library>(program, "interrupt"); });
}
