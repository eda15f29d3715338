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

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <thread>
#include <utility>
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

/// When a thread began and ended, and whether it ran all the time on a CPU.
struct stretch {
  using clock = std::chrono::steady_clock;

  static long switches() {
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
  }
  template <class Work>
  explicit stretch(Work work) : cpu(sched_getcpu()) {
    const long before = switches();
    begin = clock::now();
    work();
    end = clock::now();
    undisturbed = switches() == before;
  }
  stretch() = default;

  int cpu = 0;
  bool undisturbed = false;
  clock::time_point begin, end;
};

/// From the first begin to the last end. `undisturbed`: all began together and ran all the time, each on a
/// CPU of its own.
struct run_time {
  explicit run_time(const std::vector<stretch>& all) : undisturbed(true) {
    auto begin = all[0].begin, last_begin = begin, end = all[0].end;
    for (std::size_t i = 0; i < all.size(); ++i) {
      begin = std::min(begin, all[i].begin);
      last_begin = std::max(last_begin, all[i].begin);
      end = std::max(end, all[i].end);
      undisturbed = undisturbed && all[i].undisturbed;
      for (std::size_t k = 0; k < i; ++k)
        undisturbed = undisturbed && all[k].cpu != all[i].cpu;
    }
    undisturbed = undisturbed && (last_begin - begin) * 10 < end - begin;
    seconds = std::chrono::duration<double>(end - begin).count();
  }

  double seconds;
  bool undisturbed;
};

/// Calls `each(index)` in `count` threads, which begin together. The calling one is the first.
template <class Each>
run_time on_threads(unsigned count, Each each) {
  std::vector<stretch> all(count);
  std::atomic<unsigned> missing = count;
  const auto start = [&](unsigned index) {
    missing.fetch_sub(1, std::memory_order_relaxed);
    for (sennit::detail::backoff pause; missing.load(std::memory_order_relaxed) != 0;)
      pause();
    all[index] = stretch([&] { each(index); });
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < count; ++i)
    others.emplace_back(start, i);
  start(0);
  for (std::thread& other : others)
    other.join();
  return run_time(all);
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

/// The time that it took, and a function object for each thread, and for the values that were left.
template <class Taken>
struct passed {
  run_time time;
  std::vector<Taken> by;
};

/// Passes `total` values through a queue in which `queued` others wait, by so many threads. Each has a copy
/// of `taken`.
template <class Queue, class Taken>
passed<Taken> pass_all(unsigned threads, std::size_t queued, std::uint64_t total, const Taken& taken) {
  Queue queue(threads + queued);
  for (std::size_t i = 0; i < queued; ++i)
    queue.push(queue.at(threads + i), total + i);
  std::vector<Taken> all(threads + 1, taken);
  const run_time time = on_threads(threads, [&](unsigned i) {
    all[i] = pass(queue, queue.at(i), total * i / threads, total * (i + 1) / threads, taken);
  });
  std::size_t left = 0;
  for (std::uint64_t value = 0; queue.pop(value) != typename Queue::handle{}; ++left)
    all[threads](value);
  require(left == queued, "the queue lost or doubled a node");
  return {time, std::move(all)};
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
  const auto run = [](unsigned threads, std::size_t queued, std::uint64_t total) {
    const auto all = pass_all<Queue>(threads, queued, total, summing{});
    std::uint64_t sum = 0;
    for (const summing& each : all.by)
      sum += each.sum;
    const std::uint64_t values = total + queued;
    require(sum == values * (values - 1) / 2, "the queue lost or doubled a value");
    return all.time;
  };
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  const long cpus = CPU_COUNT(&allowed);
  for (const long n : program.values("n"))
    for (const long queued : program.values("queued"))
      for (const long threads : program.values("threads"))
        program.measure(variant, {{"threads", threads}, {"queued", queued}, {"n", n}}, "node",
                        static_cast<double>(n), [=](std::uint64_t count) {
                          // A thread that waits for a CPU leaves the queue to the others, without contention.
                          double spent = 0;
                          for (int tries = 1;; ++tries) {
                            const run_time time =
                                run(static_cast<unsigned>(threads), static_cast<std::size_t>(queued),
                                    count * static_cast<std::uint64_t>(n));
                            spent += time.seconds;
                            if (time.undisturbed || threads > cpus || tries == 50 || spent > 0.1)
                              return time.seconds;
                          }
                        });
}

}  // namespace bench
