// Sennit: see parked.hpp. Stacks of 8 KiB, of which a page is touched.
#include "parked.hpp"

#include <mutex>

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"
#include "sennit/event.hpp"

namespace {

constexpr std::size_t stack_size = 8 * 1024;

struct local_gate {
  void wait() {
    std::unique_lock hold(mutex);
    opened.wait(hold, [this] { return is_open; });
  }
  void open() {
    is_open = true;
    opened.notify_all();
  }
  sennit::local::mutex mutex;
  sennit::local::condition_variable opened;
  bool is_open = false;
};

struct gate {
  void wait() { event.wait(); }
  void open() { event.set(); }
  sennit::event event;
};

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version, "stacks of 8 KiB", {bench::parked_fibers()});
  if (program.workers() == 1)
    bench::sennit_local::run(
        [&] {
          bench::measure_parked<local_gate>(
              program, "local", [](auto function) { return sennit::local::spawn(function); },
              [] { sennit::local::this_fiber::yield(); });
        },
        sennit::run_policy::fifo, stack_size);
  else
    bench::sennit_parallel::run(
        program.workers(), bench::second_worker::sleeps,
        [&] {
          bench::measure_parked<gate>(
              program, "parallel", [](auto function) { return sennit::spawn(function); },
              [] { sennit::this_fiber::yield(); });
        },
        stack_size);
}
