// Sennit: see crosscore.hpp. `parallel` parks; as its worker then has nothing to do, it goes to sleep, and
// has to be woken. `parallel-busy`: each worker also has a fiber that yields for ever, so that it never
// sleeps. `parallel-yield` does not park, but yields until the message is there.
#include "crosscore.hpp"

#include "../peers/park_mailbox.hpp"
#include "../peers/sennit-parallel.hpp"

namespace {

struct yields {
  static BENCH_INLINE void once() { sennit::this_fiber::yield(); }
};

sennit::fiber start(unsigned worker, bench::entry entry, void* argument) {
  return sennit::spawn([entry, argument] { entry(argument); }, {.pinned = worker});
}

using park_mailbox = bench::park_mailbox<sennit::this_fiber::park, sennit::fiber*>;

void belongs_to(park_mailbox& mailbox, sennit::fiber& taker) {
  mailbox.belongs_to(&taker);
}

void measure_busy(bench::program& program) {
  std::atomic<bool> over{false};
  const auto keep_busy = [&over] {
    while (!over.load(std::memory_order_relaxed))
      sennit::this_fiber::yield();
  };
  sennit::fiber busy[] = {sennit::spawn(keep_busy, {.pinned = 0}), sennit::spawn(keep_busy, {.pinned = 1})};
  bench::measure_crosscore<park_mailbox>(program, "parallel-busy", start, belongs_to);
  over.store(true, std::memory_order_relaxed);
  for (auto& each : busy)
    each.join();
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, "this checkout", "pinned fibers; park and unpark, or yield");
  bench::require_two_workers(program);
  bench::sennit_parallel::run(2, bench::second_worker::sleeps, [&] {
    bench::measure_crosscore<park_mailbox>(program, "parallel", start, belongs_to);
    measure_busy(program);
    bench::measure_crosscore<bench::polled_mailbox<yields>>(program, "parallel-yield", start,
                                                            [](auto&, auto&) {});
  });
}
