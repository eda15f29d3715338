// Workers that sleep when there is no work, and threads that make some. Each piece of work ends one worker.
//
// header: include/sennit/detail/parallel/sleepers.hpp
// survives: Memory::light_fence(); -> none
// scene 1 worker: -DWORKERS=1
// scene 2 workers: -DWORKERS=2  imm
// scene no second look: -DWORKERS=1 -DNO_SECOND_LOOK  fails
#include "sennit/detail/parallel/sleepers.hpp"

#include "weak.hpp"

constinit sennit::detail::sleepers<weak::memory> asleep;
constinit weak::gate drivers[2];
constinit std::atomic<unsigned> pieces_there{0};

template <unsigned Number>
void work() {
  for (;;) {
    unsigned pieces = pieces_there.load(std::memory_order_relaxed);
    while (pieces != 0)
      if (pieces_there.compare_exchange_strong(pieces, pieces - 1, std::memory_order_acquire,
                                               std::memory_order_relaxed))
        return;
    asleep.mark_asleep(Number);
#if defined(NO_SECOND_LOOK)
    drivers[Number].wait();
#else
    if (pieces_there.load(std::memory_order_relaxed) == 0)
      drivers[Number].wait();
#endif
    asleep.mark_awake(Number);
  }
}

void make() {
  for (unsigned piece = 0; piece < WORKERS; ++piece) {
    pieces_there.fetch_add(1, std::memory_order_release);
    if (const unsigned chosen = asleep.choose(); chosen != asleep.none)
      drivers[chosen].signal();
  }
}

int main() {
#if WORKERS == 2
  weak::run(make, work<0>, work<1>);
#else
  weak::run(make, work<0>);
#endif
  assert(pieces_there.load(std::memory_order_relaxed) == 0);
}
