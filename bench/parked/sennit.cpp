// Sennit: see parked.hpp. Stacks of 8 KiB, of which a page is touched; or none, where they begin and wait
// with continuations.
#include "parked.hpp"

#include <mutex>

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"
#include "sennit/become.hpp"
#include "sennit/event.hpp"
#include "sennit/local/event.hpp"

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

template <class Event>
struct stackless_gate {
  sennit::continuation wait() {
    return sennit::become(event.waiting(), [] {});
  }
  void open() { event.set(); }
  Event event;
};

template <class Function>
sennit::continuation at_once(Function function) {
  return sennit::become(sennit::this_fiber::yielding(), function);
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version, "stacks of 8 KiB", {bench::parked_fibers()});
  if (program.workers() == 1)
    bench::sennit_local::run(
        [&] {
          bench::measure_parked<local_gate>(
              program, "local", [](auto function) { return sennit::local::spawn(function); },
              [] { sennit::local::this_fiber::yield(); });
          bench::measure_parked<stackless_gate<sennit::local::event>>(
              program, "local-continuation",
              [](auto function) { return sennit::local::spawn(at_once(function)); },
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
          bench::measure_parked<stackless_gate<sennit::event>>(
              program, "parallel-continuation",
              [](auto function) { return sennit::spawn(at_once(function)); },
              [] { sennit::this_fiber::yield(); });
        },
        stack_size);
}
