// sennit::wait_options: how an object treats its waiters.
// room: sync
#pragma once

#include <cstdint>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit::inline v0_1 {

/// Which waiter is woken first.
enum class wait_order : std::uint8_t {
  /// The one that has waited longest.
  fifo,
  /// The one that came last: its data is likely to be in the cache. Others may wait for long.
  recent
};

/// What the waker does.
enum class wake_policy : std::uint8_t {
  /// It makes the woken fiber ready, and continues.
  queue,
  /// It yields to the woken fiber.
  enter
};

/// Which fiber gets a mutex when it is unlocked.
enum class fairness : std::uint8_t {
  /// The first that asks for it. A fiber that locks the mutex again and again can starve the waiters.
  barging,
  /// The one that has waited longest. No waiter can be overtaken, but each hand-over waits for a switch.
  fair
};

/// Options of a mutex or a condition variable.
struct wait_options {
  /// Which waiter is woken first.
  wait_order order = wait_order::fifo;
  /// What the waker does.
  wake_policy wake = wake_policy::queue;
  /// Which fiber gets a mutex when it is unlocked. Condition variables ignore it.
  sennit::fairness fairness = sennit::fairness::barging;
  /// Whether the object is biased towards the first worker that uses it. Fibers of that worker then need no
  /// atomic operations. It pays if all fibers that use the object stay on one worker, for example because
  /// they have the same spawn_options::near.
  ///
  /// - Its use by another worker or an OS thread removes the bias for good, which takes some microseconds.
  /// - But once in the life of a mutex, a fiber of another worker whose lock() has to wait moves to the
  ///   mutex's worker instead. A pinned fiber stays, and so does one that waits with a deadline.
  /// - While a runtime reports deadlocks, mutexes note their owners, and a bias gains little. That is the
  ///   default of debug builds (runtime_options::report_deadlock).
  /// - It has no effect in sennit::local, where nothing is atomic, nor where membarrier(2) is refused. A
  ///   filter that refuses it must be older than the first runtime: later the program would end.
  ///
  /// Semaphores and channels that are biased have types of their own (biased.hpp).
  ///
  /// Source: Dolan 2013, section 6.3.
  bool bias = false;
};

}  // namespace sennit::inline v0_1
