// Timers of which n are pending, and what one more costs beside them. `work` says what an operation is:
//
//   restart   a timer is stopped and started again with another deadline; no fiber has a part in it
//   timeout   a fiber that waits with a deadline is woken before it, and waits anew, with another one
//   wait      the same without deadlines: what `timeout` costs above it is the timer
//   sleep     a sleep, from its start to its end, of one of n fibers that all sleep again and again, so
//             briefly that one is always due
//
// and `which` whose they are: always those of the same 64 (`few`), of which the memory stays in the caches;
// those of all n, in random order (`any`); or, of `sleep`, of all at once (`all`). Deadlines are random, and
// those of `restart` and `timeout` 10 to 20 minutes off, so that none comes meanwhile.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "../support/bench.hpp"
#include "../support/deadlines.hpp"
#include "../support/distinct.hpp"
#include "../support/latch.hpp"

namespace bench {

inline std::vector<parameter> timers_parameters() {
  return {{"n", {1'000, 10'000, 100'000, 1'000'000}, {1'000, 10'000}}};
}

/// The least stack a fiber can live on here, where a library lets one choose.
inline constexpr std::size_t timers_stack_size = 8 * 1024;

/// 64 numbers below n at a time: always the same ones, or the next ones in a random order of all.
class batches {
public:
  batches(std::size_t n, bool any) : order_(n), size_(std::min<std::size_t>(n, 64)) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::shuffle(order_.begin(), order_.end(), std::mt19937_64(1));
    if (!any)
      order_.resize(size_);
  }
  std::size_t size() const { return size_; }
  /// Calls `act(number)` for each of the next.
  template <class Act>
  void next(Act act) {
    if (at_ + size_ > order_.size())
      at_ = 0;
    for (std::size_t i = 0; i < size_; ++i)
      act(order_[at_ + i]);
    at_ += size_;
  }

private:
  std::vector<std::size_t> order_;
  std::size_t size_;
  std::size_t at_ = 0;
};

/// `Timers(n)` has n timers, and `start(number, deadline)` and `stop(number)`.
template <class Timers>
void measure_restart(program& program, const char* variant) {
  for (const long n : program.values("n")) {
    if (!program.wants(variant))
      return;
    random_deadlines deadlines;
    Timers timers(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
      timers.start(i, deadlines.far());
    for (const char* which : {"few", "any"}) {
      batches chosen(static_cast<std::size_t>(n), *which == 'a');
      program.measure(variant, {{"n", n}, {"work", "restart"}, {"which", which}}, "timer",
                      static_cast<double>(chosen.size()), [&](std::uint64_t count) {
                        for (; count != 0; --count)
                          chosen.next([&](std::size_t i) {
                            timers.stop(i);
                            timers.start(i, deadlines.far());
                          });
                      });
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
      timers.stop(i);
  }
}

/// n fibers that wait, each in a `Library::sleeper` of its own, for main to wake it: `wait()`,
/// `wait_until(deadline)` (false: it has come), `wake()`, `belongs_to(fiber&)` before the first wake.
template <class Library>
class sleeping_fibers {
public:
  explicit sleeping_fibers(std::size_t n) : nodes_(n), latch_(n) {
    fibers_.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
      nodes_[i].owner = this;
      fibers_.emplace_back(distinct_entry<sleeping_fibers>(i), &nodes_[i], timers_stack_size);
      nodes_[i].sleeper.belongs_to(fibers_.back());
    }
    wake_all();
  }

  ~sleeping_fibers() {
    over_ = true;
    wake_all();
    for (auto& each : fibers_)
      each.join();
  }

  /// Whether they wait with a deadline from now on.
  void set_timed(bool timed) {
    timed_.store(timed, std::memory_order_relaxed);
    wake_all();
  }

  void wake(batches& chosen) {
    latch_.reset(chosen.size());
    chosen.next([&](std::size_t i) { nodes_[i].sleeper.wake(); });
    latch_.wait();
  }

  /// All sleep, so many times.
  void sleep(std::uint64_t times) {
    sleeps_ = times;
    wake_all();
    sleeps_ = 0;
  }

  static BENCH_INLINE void run(void* argument) {
    node& self = *static_cast<node*>(argument);
    sleeping_fibers& owner = *self.owner;
    for (bool over = false; !over;) {
      if (owner.timed_.load(std::memory_order_relaxed))
        require(self.sleeper.wait_until(owner.deadlines().far()), "a deadline came ten minutes too early");
      else
        self.sleeper.wait();
      over = owner.over_;
      for (std::uint64_t left = owner.sleeps_; left != 0; --left)
        Library::sleep_until(owner.deadlines().soon(owner.nodes_.size()));
      owner.latch_.arrive();
    }
  }

private:
  struct node {
    typename Library::sleeper sleeper;
    sleeping_fibers* owner;
  };

  void wake_all() {
    latch_.reset(nodes_.size());
    for (node& each : nodes_)
      each.sleeper.wake();
    latch_.wait();
  }

  static random_deadlines& deadlines() {
    static random_deadlines all[64];
    return all[Library::worker()];
  }

  std::vector<node> nodes_;
  std::vector<typename Library::fiber> fibers_;
  latch<Library> latch_;
  std::atomic<bool> timed_{false};
  // Written while all wait, or are about to.
  std::uint64_t sleeps_ = 0;
  bool over_ = false;
};

/// Call it from a fiber.
template <class Library>
void measure_sleepers(program& program, const char* variant) {
  if (!program.wants(variant))
    return;
  for (const long n : program.values("n")) {
    try {
      sleeping_fibers<Library> fibers(static_cast<std::size_t>(n));
      for (const char* work : {"wait", "timeout"}) {
        fibers.set_timed(*work == 't');
        for (const char* which : {"few", "any"}) {
          batches chosen(static_cast<std::size_t>(n), *which == 'a');
          program.measure(variant, {{"n", n}, {"work", work}, {"which", which}}, "wait",
                          static_cast<double>(chosen.size()), [&](std::uint64_t count) {
                            for (; count != 0; --count)
                              fibers.wake(chosen);
                          });
        }
      }
      fibers.set_timed(false);
      constexpr int sleeps = 4;
      program.measure(variant, {{"n", n}, {"work", "sleep"}, {"which", "all"}}, "sleep",
                      static_cast<double>(n) * sleeps,
                      [&](std::uint64_t count) { fibers.sleep(count * sleeps); });
      program.report_memory(variant, {{"n", n}, {"work", "sleep"}, {"which", "all"}}, "fiber",
                            static_cast<double>(n));
    } catch (const std::exception& error) {
      program.unsupported(variant, {{"n", n}}, error.what());
      std::fflush(stdout);
      std::_Exit(0);  // those fibers that were made wait for ever
    }
  }
}

}  // namespace bench
