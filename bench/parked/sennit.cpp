// Sennit: see parked.hpp. Stacks of 8 KiB, of which a page is touched; or none, where they begin and wait
// with continuations. Fibers are detached, and a wait group knows when all have ended, as in Go's program: no
// handles are kept.
#include "parked.hpp"

#include <mutex>
#include <string>

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"
#include "sennit/become.hpp"
#include "sennit/event.hpp"
#include "sennit/local/event.hpp"
#include "sennit/local/wait_group.hpp"
#include "sennit/wait_group.hpp"

namespace {

constexpr std::size_t stack_size = 8 * 1024;

template <class WaitGroup>
struct detached_fibers {
  explicit detached_fibers(long n) : left(static_cast<std::size_t>(n)) {}
  void join() { left.wait(); }
  WaitGroup left;
};

struct local_gate : detached_fibers<sennit::local::wait_group> {
  using detached_fibers::detached_fibers;
  void wait() {
    {
      std::unique_lock hold(mutex);
      opened.wait(hold, [this] { return is_open; });
    }
    left.done();
  }
  void open() {
    is_open = true;
    opened.notify_all();
  }
  sennit::local::mutex mutex;
  sennit::local::condition_variable opened;
  bool is_open = false;
};

struct gate : detached_fibers<sennit::wait_group> {
  using detached_fibers::detached_fibers;
  void wait() {
    event.wait();
    left.done();
  }
  void open() { event.set(); }
  sennit::event event;
};

template <class Event, class WaitGroup>
struct stackless_gate : detached_fibers<WaitGroup> {
  using detached_fibers<WaitGroup>::detached_fibers;
  sennit::continuation wait() {
    return sennit::become(event.waiting(), [this] { this->left.done(); });
  }
  void open() { event.set(); }
  Event event;
};
using local_stackless_gate = stackless_gate<sennit::local::event, sennit::local::wait_group>;
using parallel_stackless_gate = stackless_gate<sennit::event, sennit::wait_group>;

template <class Function>
sennit::continuation at_once(Function function) {
  return sennit::become(sennit::this_fiber::yielding(), function);
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version, "stacks of 8 KiB", {bench::parked_fibers()});
  const std::string kind = program.workers() == 1 ? "local" : "parallel";
  if (program.run_each({kind, kind + "-continuation"}, argv))
    return 0;
  if (program.workers() == 1)
    bench::sennit_local::run(
        [&] {
          bench::measure_parked<local_gate>(
              program, "local", [](local_gate&, auto function) { sennit::local::spawn(function).detach(); },
              [] { sennit::local::this_fiber::yield(); });
          bench::measure_parked<local_stackless_gate>(
              program, "local-continuation",
              [](local_stackless_gate&, auto function) { sennit::local::spawn(at_once(function)).detach(); },
              [] { sennit::local::this_fiber::yield(); });
        },
        sennit::run_policy::fifo, stack_size);
  else
    bench::sennit_parallel::run(
        program.workers(), bench::second_worker::sleeps,
        [&] {
          bench::measure_parked<gate>(
              program, "parallel", [](gate&, auto function) { sennit::spawn(function).detach(); },
              [] { sennit::this_fiber::yield(); });
          bench::measure_parked<parallel_stackless_gate>(
              program, "parallel-continuation",
              [](parallel_stackless_gate&, auto function) { sennit::spawn(at_once(function)).detach(); },
              [] { sennit::this_fiber::yield(); });
        },
        stack_size);
}
