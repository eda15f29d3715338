// Holds all workers of the process where they are, so that a thread can inspect their fibers.
//
// Each worker's thread gets a signal. Its handler notes where the thread is, and waits until it is released.
// While all workers of a runtime are held, none of its fibers can be resumed: suspended fibers stay so, with
// their stacks. A worker without a thread is held, too: a thread that becomes the worker waits. Other threads
// continue. They may make fibers ready, and make new ones. They touch no fiber's stack, except where its
// owner has lent them something.
//
// A thread may be held anywhere, with any lock. So the holder takes no lock, and allocates nothing.
//
// Rejected: asking workers to stop at their next dispatch. A worker that is stuck in a fiber never gets
// there, and it is the one of interest. While it runs, it may resume any fiber of its runtime.
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "sennit/detail/fault/backtrace.hpp"
#include "sennit/detail/sched/worker.hpp"

namespace sennit::inline v0_1::detail {

// Where a worker's thread was stopped.
struct stopped_thread {
  std::uintptr_t stack_pointer = 0;
  std::size_t depth = 0;
  std::uintptr_t at[backtrace_depth] = {};

  std::span<const std::uintptr_t> backtrace() const noexcept { return {at, depth}; }
};

class stop_the_world {
public:
  // Ignored by default, so an extra or late one does no harm.
  static constexpr int signal = SIGURG;

  // Stops the threads that respond within a fifth of a second: a thread that blocks the signal does not. Only
  // one stop at a time: other callers wait here. `frame`: the caller's __builtin_dwarf_cfa(), where its own
  // backtrace begins. `only`: stops just this worker, if it is registered. Then the others may resume any
  // fibers.
  explicit stop_the_world(const void* frame, const worker* only = nullptr) noexcept;
  ~stop_the_world() { resume(); }
  stop_the_world(const stop_the_world&) = delete;
  stop_the_world& operator=(const stop_the_world&) = delete;

  // Releases the workers early; once.
  void resume() noexcept;

  // Returns whether the worker cannot resume any fiber.
  bool is_stopped(const worker& w) const noexcept;
  // Returns where it is, or null if it has no thread, or its thread runs.
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

}  // namespace sennit::inline v0_1::detail
