// All workers of the process, held where they are, so that others' fibers can be looked at.
//
// Each worker's thread is sent a signal; its handler notes where the thread is and waits until it is let go.
// While all workers of a runtime are held none of its fibers can be resumed, so that what is suspended stays
// so, with its stack. A worker that no thread is yet, or any more, is held too: who begins to be one waits.
// Other threads run on. They may make fibers ready, and make new ones; they touch no stack of a fiber but
// what its owner has lent them.
//
// A thread may be held anywhere, with any lock: who holds them takes none, and allocates nothing.
//
// Rejected: to ask workers to stop at their next dispatch. One that is stuck in a fiber never comes there,
// and it is for it that one looks; while it runs on it may resume any fiber of its runtime.
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "sennit/detail/fault/backtrace.hpp"
#include "sennit/detail/sched/worker.hpp"

namespace sennit::detail {

// Where a worker's thread was when it was stopped.
struct stopped_thread {
  std::uintptr_t stack_pointer = 0;
  std::size_t depth = 0;
  std::uintptr_t at[backtrace_depth] = {};

  std::span<const std::uintptr_t> backtrace() const noexcept { return {at, depth}; }
};

class stopped_workers {
public:
  // Ignored by default, so that one too many, or too late, does no harm.
  static constexpr int signal = SIGURG;

  // Stops those that can be stopped within a fifth of a second: a thread that blocks the signal cannot. One
  // at a time: others wait here. `frame`: the caller's __builtin_dwarf_cfa(), where its own backtrace begins.
  // `only`: that one alone, if it is registered; then others may resume what fibers they like.
  explicit stopped_workers(const void* frame, const worker* only = nullptr) noexcept;
  ~stopped_workers() { let_go(); }
  stopped_workers(const stopped_workers&) = delete;
  stopped_workers& operator=(const stopped_workers&) = delete;

  // Once, and early.
  void let_go() noexcept;

  // Whether it will resume nobody.
  bool holds(const worker& w) const noexcept;
  // Where it is; null: no thread is it, or it runs on.
  const stopped_thread* place_of(const worker& w) const noexcept;

private:
  void ask(const worker& w, const void* frame) noexcept;
  void await_answers() noexcept;

  std::unique_lock<std::mutex> registered_;
  std::unique_lock<std::mutex> described_;
  stopped_thread own_;  // the calling thread's, if it is a worker
  bool all_asked_ = true;
  bool held_ = true;
};

// For who begins to be a worker, once its thread is known: not while workers are held.
inline constinit std::atomic<int> workers_are_held{0};
[[gnu::cold]] void wait_until_let_go() noexcept;

}  // namespace sennit::detail
