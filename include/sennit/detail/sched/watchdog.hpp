// A thread that inspects all workers now and then, while a runtime asks for it. Is a worker stuck in a fiber,
// or do all wait for something that cannot happen?
//
// It is a separate thread, although workers watch each other (parallel/find_work.cpp): there may be only one
// worker, or all may be stuck. It reads only what is written anyway, so workers pay no cost for it.
#pragma once

#include <atomic>
#include <optional>

#include "sennit/detail/sched/fiber.hpp"

namespace sennit::inline v0_1::detail {

enum class deadlock_reports : unsigned char {
  none,
  certain,  // a cycle; or all fibers wait, and Sennit knows all threads
  likely    // also where another thread might wake a fiber
};

// The meaning of runtime_options::report_deadlock in the caller's build. Without a value, ThreadSanitizer's
// builds have no reports: it refuses new threads in the child of a process that has several.
[[gnu::always_inline]] inline deadlock_reports deadlocks_to_report(std::optional<bool> wanted) noexcept {
#if defined(NDEBUG) || defined(SENNIT_TSAN)
  const deadlock_reports without_a_value = deadlock_reports::none;
#else
  const deadlock_reports without_a_value = deadlock_reports::certain;
#endif
  if (!wanted)
    return without_a_value;
  return *wanted ? deadlock_reports::likely : deadlock_reports::none;
}

struct watchdog_options {
  clock::duration stuck_after{0};  // 0, or below: stuck workers are not reported
  deadlock_reports deadlock = deadlock_reports::none;

  bool watches_stuck() const noexcept {
    return stuck_after > clock::duration::zero() && stuck_after != clock::duration::max();
  }
  bool watches_deadlock() const noexcept { return deadlock != deadlock_reports::none; }
  bool watches() const noexcept { return watches_stuck() || watches_deadlock(); }
};

struct watchdog;  // in watchdog.cpp

// A request for the watchdog, for its lifetime. Throws std::system_error if no thread can be started.
class watchdog_use {
public:
  explicit watchdog_use(const watchdog_options& options);
  ~watchdog_use();
  watchdog_use(const watchdog_use&) = delete;
  watchdog_use& operator=(const watchdog_use&) = delete;

  const watchdog_options options;
  watchdog* by = nullptr;
  watchdog_use* next = nullptr;
  watchdog_use* previous = nullptr;
};

// Lies in the frame of a thread that waits for fibers, or for their results.
class waiting_thread {
public:
  explicit waiting_thread(time_point deadline) noexcept : among_(deadline == never ? for_good : for_a_time) {
    among_.fetch_add(1, std::memory_order_relaxed);
  }
  ~waiting_thread() { among_.fetch_sub(1, std::memory_order_relaxed); }
  waiting_thread(const waiting_thread&) = delete;
  waiting_thread& operator=(const waiting_thread&) = delete;

  static constinit inline std::atomic<unsigned> for_good{0};
  static constinit inline std::atomic<unsigned> for_a_time{0};

private:
  std::atomic<unsigned>& among_;
};

// The last observation of a worker. Used only by the watchdog's thread.
struct watched_run {
  unsigned dispatches = 0;
  const fiber* runs = nullptr;
  time_point since;  // the look that saw it first
  bool reported = false;
};

}  // namespace sennit::inline v0_1::detail
