// For tests of fibers' places: workers that are busy, and workers that none watches.
#pragma once

#include <sched.h>

#include <atomic>

#include "sennit/runtime.hpp"

namespace support {

// Spins, as a fiber does that computes, until it is true. What this waits for must be done by another thread.
template <class Condition>
void spin_until(Condition condition) {
  while (!condition())
    ::sched_yield();
}

// A worker that dispatches no fiber, and steals none, until the test releases it. It must be another one than
// the caller's.
class held_worker {
public:
  held_worker(sennit::runtime& of, unsigned number)
      : holder_(of.spawn(
            [this] {
              holds_ = true;
              spin_until([this] { return over_.load(); });
            },
            {.pinned = number})) {
    spin_until([this] { return holds_.load(); });
  }
  held_worker(const held_worker&) = delete;
  held_worker& operator=(const held_worker&) = delete;
  ~held_worker() {
    let_go();
    holder_.join();
  }

  void let_go() { over_ = true; }

private:
  std::atomic<bool> holds_{false};
  std::atomic<bool> over_{false};
  sennit::fiber holder_;
};

// While it lives, no sleeper of the caller's runtime watches: a watcher that serves a stuck worker takes all
// its fibers, which would hide that no worker steals. (The caller pretends to be the watcher.) When it is
// made, all workers must run fibers: one that watches already would hardly leave off.
class unwatched {
public:
  unwatched() {
    spin_until([this] { return !of_.watched.exchange(true); });
  }
  unwatched(const unwatched&) = delete;
  unwatched& operator=(const unwatched&) = delete;
  ~unwatched() { of_.watched = false; }

private:
  sennit::detail::parallel_runtime& of_ = sennit::detail::running_parallel().runtime;
};

}  // namespace support
