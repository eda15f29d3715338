// Nodes that go through one shared queue: each thread adds a node and takes one, again and again, and adds
// next the one that it took. One node is one operation. The first seed's Figure 4 measures its queues so.
//
// A queue has these members:
//
//   explicit Queue(count)    with that many nodes, none of which is queued yet
//   handle                   names a node; handle{} names none
//   at(i)                    the handle of node i
//   push(handle, value)      adds a node with a value
//   pop(value&)              takes the first value, and returns a node that may be pushed again: the value's
//                            own, or one that was taken before. Returns handle{} if the queue is empty.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <thread>
#include <vector>

#include "../support/bench.hpp"
#include "sennit/detail/arch/spin_lock.hpp"

namespace bench {

/// The alignment of what different threads write: two cache lines, since some processors fetch pairs.
inline constexpr std::size_t apart = 128;

/// Nodes in one mapping. Each has an offset of 32 bits, a multiple of `Stride`, so that a link and a count of
/// its changes fit into a word of 64 bits. No node has the offset 0.
template <class Node, std::size_t Stride>
class arena {
public:
  explicit arena(std::size_t count)
      : bytes_((count + 1) * Stride),
        memory_(static_cast<std::byte*>(
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    require(memory_ != MAP_FAILED, "no memory for the nodes");
    for (std::size_t i = 0; i < count; ++i)
      new (memory_ + offset(i)) Node;
  }
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena() { munmap(memory_, bytes_); }

  static std::uint32_t offset(std::size_t index) { return static_cast<std::uint32_t>((index + 1) * Stride); }
  Node& operator[](std::uint32_t offset) const { return *reinterpret_cast<Node*>(memory_ + offset); }

private:
  std::size_t bytes_;
  std::byte* memory_;
};

/// A link to a node in an arena, with a count that each change of the link increases. A compare-and-swap then
/// fails if the link was changed, even if it is back at the same node.
constexpr std::uint32_t node_of(std::uint64_t counted) {
  return static_cast<std::uint32_t>(counted);
}
constexpr std::uint64_t changed_to(std::uint32_t node, std::uint64_t counted) {
  return ((counted >> 32) + 1) << 32 | node;
}

/// Calls `each(index)` in `count` threads, which begin together. The calling one is the first.
template <class Each>
void on_threads(unsigned count, Each each) {
  std::atomic<unsigned> missing = count;
  const auto start = [&](unsigned index) {
    missing.fetch_sub(1, std::memory_order_relaxed);
    for (sennit::detail::backoff pause; missing.load(std::memory_order_relaxed) != 0;)
      pause();
    each(index);
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < count; ++i)
    others.emplace_back(start, i);
  start(0);
  for (std::thread& other : others)
    other.join();
}

/// Passes the values from `first` to before `last`, and calls `taken(value)` for each that it takes.
template <class Queue, class Taken>
Taken pass(Queue& queue, typename Queue::handle node, std::uint64_t first, std::uint64_t last, Taken taken) {
  for (std::uint64_t value = first; value != last; ++value) {
    queue.push(node, value);
    std::uint64_t other = 0;
    node = queue.pop(other);
    require(node != typename Queue::handle{}, "the queue lost a node");
    taken(other);
  }
  return taken;
}

/// Passes `total` values through a queue in which `queued` others wait, by so many threads. Returns a copy of
/// `taken` for each thread, and for the values that are left in the queue.
template <class Queue, class Taken>
std::vector<Taken> pass_all(unsigned threads, std::size_t queued, std::uint64_t total, const Taken& taken) {
  Queue queue(threads + queued);
  for (std::size_t i = 0; i < queued; ++i)
    queue.push(queue.at(threads + i), total + i);
  std::vector<Taken> all(threads + 1, taken);
  on_threads(threads, [&](unsigned i) {
    all[i] = pass(queue, queue.at(i), total * i / threads, total * (i + 1) / threads, taken);
  });
  std::size_t left = 0;
  for (std::uint64_t value = 0; queue.pop(value) != typename Queue::handle{}; ++left)
    all[threads](value);
  require(left == queued, "the queue lost or doubled a node");
  return all;
}

/// Ends the program unless each of many values is taken once, and those of a thread in its order.
template <class Queue>
void check_queue() {
  constexpr unsigned threads = 4;
  constexpr std::size_t queued = 3;
  constexpr std::uint64_t of_each = 5000;
  std::vector<std::atomic<bool>> seen(threads * of_each + queued);
  struct in_order {
    void operator()(std::uint64_t value) {
      require(!(*seen)[value].exchange(true, std::memory_order_relaxed), "the queue doubled a value");
      std::uint64_t& before = last[value / of_each];
      require(before <= value, "the queue changed the order of values");
      before = value;
    }
    std::vector<std::atomic<bool>>* seen;
    std::uint64_t last[threads + 1] = {};
  };
  pass_all<Queue>(threads, queued, threads * of_each, in_order{&seen});
  for (const auto& each : seen)
    require(each.load(std::memory_order_relaxed), "the queue lost a value");
}

inline std::vector<parameter> queues_parameters() {
  return {{"threads", {1, 2}, {1, 2}}, {"queued", {0, 100}, {0, 100}}, {"n", {1'000'000}, {100'000}}};
}

template <class Queue>
void measure_queue(program& program, const char* variant) {
  if (!program.wants(variant))
    return;
  check_queue<Queue>();
  struct summing {
    void operator()(std::uint64_t value) { sum += value; }
    std::uint64_t sum = 0;
  };
  for (const long n : program.values("n"))
    for (const long queued : program.values("queued"))
      for (const long threads : program.values("threads"))
        program.measure(variant, {{"threads", threads}, {"queued", queued}, {"n", n}}, "node",
                        static_cast<double>(n), [=](std::uint64_t count) {
                          const std::uint64_t total = count * static_cast<std::uint64_t>(n);
                          const auto waiting = static_cast<std::size_t>(queued);
                          std::uint64_t sum = 0;
                          for (const summing& each :
                               pass_all<Queue>(static_cast<unsigned>(threads), waiting, total, summing{}))
                            sum += each.sum;
                          const std::uint64_t values = total + waiting;
                          require(sum == values * (values - 1) / 2, "the queue lost or doubled a value");
                        });
}

}  // namespace bench
