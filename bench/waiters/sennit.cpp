// Sennit: see waiters.hpp.
#include "waiters.hpp"

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"
#include "sennit/channel.hpp"
#include "sennit/local/channel.hpp"

namespace {

template <class Channel>
class words {
public:
  BENCH_INLINE void send(std::uint64_t word) { channel_.send(word); }
  BENCH_INLINE std::uint64_t receive() { return *channel_.receive(); }
  BENCH_INLINE bool receive_until(bench::deadline_clock::time_point deadline) {
    return channel_.receive_until(deadline).has_value();
  }

private:
  Channel channel_;
};

struct local : bench::sennit_local {
  using plain_mutex = sennit::local::mutex;
  using timed_mutex = plain_mutex;
  using plain_condition = sennit::local::condition_variable;
  using channel = words<sennit::local::channel<std::uint64_t>>;
  static unsigned worker() { return 0; }
};

struct parallel : bench::sennit_parallel {
  using plain_mutex = sennit::mutex;
  using timed_mutex = plain_mutex;
  using plain_condition = sennit::condition_variable;
  using channel = words<sennit::channel<std::uint64_t>>;
  static unsigned worker() { return sennit::this_fiber::worker(); }
};

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version,
                         "its mutex (barging), condition_variable and channel; 8 KiB stacks; parallel on 1 "
                         "worker: the second one is held",
                         bench::waiters_parameters());
  const auto on_local = [&](auto measure) {
    if (program.workers() == 1 && program.wants("local"))
      local::run(measure, sennit::run_policy::fifo, bench::waiters_stack_size);
  };
  const auto on_parallel = [&](auto measure) {
    if (program.wants("parallel"))
      parallel::run(program.workers(), bench::second_worker::held, measure, bench::waiters_stack_size);
  };
  on_local([&] { bench::measure_waiters_woken<local>(program, "local"); });
  on_parallel([&] { bench::measure_waiters_woken<parallel>(program, "parallel"); });
  on_local([&] { bench::measure_waiters_leaving<local>(program, "local"); });
  on_parallel([&] { bench::measure_waiters_leaving<parallel>(program, "parallel"); });
}
