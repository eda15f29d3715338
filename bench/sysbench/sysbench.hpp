// The tests `threads` and `mutex` of sysbench (github.com/akopytov/sysbench), by the fibers of a library.
//
// `threads`: each fiber takes event after event. An event has one of 8 mutexes, in turn, and `yields` times
// locks it, yields, and unlocks it. One such time is one operation. sysbench's event has 1,000.
//
// `mutex`: each fiber again and again runs `loops` empty loops, then locks one of 4,096 mutexes, chosen at
// random, counts, and unlocks it. One such time is one operation. sysbench's event has 50,000, and 10,000
// loops before each. With 0 loops, the locks remain.
//
// sysbench checks nothing. Here each mutex has a count, which is wrong if two fibers were inside at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"

namespace bench {

/// The parameters every program of this workload takes.
inline std::vector<parameter> sysbench_parameters() {
  return {{"fibers", {8}, {8}}, {"yields", {1000}, {10}}, {"loops", {10'000, 0}, {10, 0}}};
}

/// A mutex and how often it was locked, as far from the next one as in sysbench.
template <class Library>
struct counted_mutex {
  typename Library::mutex mutex;
  std::uint64_t count = 0;
  char padding[256];
};

/// What both tests have in common: mutexes, and fibers that each run `Test::run`.
template <class Library, class Test>
class sysbench_test {
public:
  /// Runs the fibers to their ends, and checks that they did `operations`.
  void run_fibers(long fibers, std::uint64_t operations) {
    for (auto& each : mutexes_)
      each.count = 0;
    std::vector<typename Library::fiber> running;
    for (long i = 0; i < fibers; ++i)
      running.emplace_back(distinct_entry<Test, 16>(static_cast<std::size_t>(i)), static_cast<Test*>(this));
    for (auto& each : running)
      each.join();
    const auto counted =
        std::accumulate(mutexes_.begin(), mutexes_.end(), std::uint64_t{0},
                        [](std::uint64_t sum, const auto& each) { return sum + each.count; });
    require(counted == operations, "a mutex let two in at once");
  }

protected:
  explicit sysbench_test(std::size_t mutexes) : mutexes_(mutexes) {}

  std::vector<counted_mutex<Library>> mutexes_;
};

template <class Library>
class threads_test : public sysbench_test<Library, threads_test<Library>> {
public:
  static constexpr std::size_t mutexes = 8;

  explicit threads_test(long yields)
      : sysbench_test<Library, threads_test>(mutexes), yields_(static_cast<std::uint64_t>(yields)) {}

  void operator()(long fibers, std::uint64_t events) {
    begun_.store(0, std::memory_order_relaxed);
    events_ = events;
    this->run_fibers(fibers, events * yields_);
  }

  static BENCH_INLINE void run(void* argument) {
    auto& self = *static_cast<threads_test*>(argument);
    for (;;) {
      const std::uint64_t event = self.begun_.fetch_add(1, std::memory_order_relaxed);
      if (event >= self.events_)
        break;
      auto& chosen = self.mutexes_[event % mutexes];
      for (std::uint64_t left = self.yields_; left != 0; --left) {
        chosen.mutex.lock();
        const std::uint64_t before = chosen.count;
        Library::yield();
        chosen.count = before + 1;
        chosen.mutex.unlock();
      }
    }
  }

private:
  const std::uint64_t yields_;
  std::uint64_t events_ = 0;
  std::atomic<std::uint64_t> begun_{0};
};

template <class Library>
class mutex_test : public sysbench_test<Library, mutex_test<Library>> {
public:
  static constexpr std::size_t mutexes = 4096;

  explicit mutex_test(long loops) : sysbench_test<Library, mutex_test>(mutexes), loops_(loops) {}

  void operator()(long fibers, std::uint64_t locks) {
    locks_ = locks;
    this->run_fibers(fibers, static_cast<std::uint64_t>(fibers) * locks);
  }

  static BENCH_INLINE void run(void* argument) {
    auto& self = *static_cast<mutex_test*>(argument);
    std::uint64_t random = self.seed_.fetch_add(0x9e3779b97f4a7c15, std::memory_order_relaxed) | 1;
    for (std::uint64_t left = self.locks_; left != 0; --left) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      auto& chosen = self.mutexes_[random % mutexes];
      for (long i = self.loops_; i != 0; --i)
        touch_memory();
      chosen.mutex.lock();
      ++chosen.count;
      // sysbench counts in one variable, which its many mutexes do not protect.
      self.all_.store(self.all_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      chosen.mutex.unlock();
    }
  }

private:
  const long loops_;
  std::uint64_t locks_ = 0;
  std::atomic<std::uint64_t> seed_{1};
  alignas(64) std::atomic<std::uint64_t> all_{0};
};

/// Call it from a fiber.
template <class Library>
void measure_sysbench(program& program, const char* variant) {
  for (const long fibers : program.values("fibers")) {
    for (const long yields : program.values("yields")) {
      threads_test<Library> test(yields);
      // As many events as fibers, as often as `count` says.
      program.measure(variant, {{"test", "threads"}, {"fibers", fibers}, {"yields", yields}}, "yield",
                      static_cast<double>(fibers * yields),
                      [&](std::uint64_t count) { test(fibers, static_cast<std::uint64_t>(fibers) * count); });
    }
    for (const long loops : program.values("loops")) {
      mutex_test<Library> test(loops);
      program.measure(variant, {{"test", "mutex"}, {"fibers", fibers}, {"loops", loops}}, "lock",
                      static_cast<double>(fibers), [&](std::uint64_t count) { test(fibers, count); });
    }
  }
}

}  // namespace bench
