// One message from one worker to another and one back, again and again, between two fibers of which each
// stays on its worker; one message is one operation.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"

namespace bench {

/// One of the two ends. `Mailbox` has `put(message)` and `take()`. The first one's takes what the second one
/// puts, and the other way round.
template <class Mailbox>
struct crosscore_end {
  Mailbox* in;
  Mailbox* out;
  std::uint64_t messages;
  bool last;  // its last message has no answer
  std::uint64_t taken = 0;

  static BENCH_INLINE void run(void* argument) {
    auto& self = *static_cast<crosscore_end*>(argument);
    for (std::uint64_t left = self.messages; left != 0; --left) {
      self.taken = self.in->take();
      if (left != 1 || !self.last)
        self.out->put(self.taken + 1);
    }
  }
};

/// `start(index, entry, argument)` starts one on worker `index`, `join(fiber)` waits for it. `know(mailbox,
/// fiber)` sets the receiver, before the first message is put.
template <class Mailbox, class Start, class Know>
void measure_crosscore(program& program, const char* variant, Start start, Know know) {
  program.measure(variant, {}, "message", 2, [&](std::uint64_t count) {
    Mailbox boxes[2];
    using end = crosscore_end<Mailbox>;
    end ends[] = {{&boxes[0], &boxes[1], count, false}, {&boxes[1], &boxes[0], count, true}};
    auto first = start(0U, distinct_entry<end>(0), &ends[0]);
    auto second = start(1U, distinct_entry<end>(1), &ends[1]);
    know(boxes[0], first);
    know(boxes[1], second);
    boxes[0].put(1);
    first.join();
    second.join();
    require(ends[1].taken == 2 * count, "a message was lost");
  });
}

/// Prints that it cannot be measured, and ends the program, unless there are two workers.
inline void require_two_workers(const program& program) {
  if (program.workers() >= 2)
    return;
  program.unsupported("", {}, "a message between two workers needs two");
  std::exit(0);
}

/// Plain loads and stores: the taker loads until the message is another one than the last. Nothing is stored
/// to say that it was taken, and nothing else is done while it waits.
class alignas(128) plain_mailbox {
public:
  BENCH_INLINE void put(std::uint64_t message) { message_.store(message, std::memory_order_release); }

  BENCH_INLINE std::uint64_t take() {
    std::uint64_t taken;
    do
      taken = message_.load(std::memory_order_acquire);
    while (taken == last_);
    return last_ = taken;
  }

private:
  std::atomic<std::uint64_t> message_{0};
  alignas(128) std::uint64_t last_ = 0;  // only the taker's
};

/// One message, which the taker waits for by `Wait::once()`, called again and again.
template <class Wait>
class alignas(128) polled_mailbox {
public:
  BENCH_INLINE void put(std::uint64_t message) { message_.store(message, std::memory_order_release); }

  BENCH_INLINE std::uint64_t take() {
    std::uint64_t taken;
    while ((taken = message_.load(std::memory_order_acquire)) == 0)
      Wait::once();
    message_.store(0, std::memory_order_relaxed);
    return taken;
  }

private:
  std::atomic<std::uint64_t> message_{0};  // 0: none
};

}  // namespace bench
