// State Threads: see threadring.hpp. A thread sleeps without end, and the sender to its mailbox interrupts
// it. That touches less memory per hop than a condition variable, which took half as long again with a
// million threads.
#include "../peers/libst.hpp"
#include "threadring.hpp"

namespace {

using library = bench::state_threads<bench::idiom>;

class mailbox {
public:
  BENCH_INLINE void put(std::uint64_t token) {
    token_ = token;
    full_ = true;
    if (owner_ != nullptr)
      st_thread_interrupt(owner_);
  }

  BENCH_INLINE std::uint64_t take() {
    owner_ = st_thread_self();
    while (!full_)
      st_usleep(ST_UTIME_NO_TIMEOUT);
    full_ = false;
    owner_ = nullptr;
    return token_;
  }

private:
  st_thread_t owner_ = nullptr;  // while it waits
  std::uint64_t token_ = 0;
  bool full_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, library::version(),
                         "8 KiB stacks; endless st_usleep, st_thread_interrupt to wake (its own idiom)",
                         bench::threadring_parameters());
  program.require_one_worker("State Threads has one kernel thread");

  library::run([&] { bench::measure_threadring<library, mailbox>(program, "interrupt", 8 * 1024); });
}
