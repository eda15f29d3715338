// What a worker of a parallel runtime has beside what every worker has (worker.hpp), and what those of one
// runtime share. What its fibers do: parallel.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "sennit/detail/arch/countdown.hpp"
#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/sched/help.hpp"
#include "sennit/detail/sched/inbox.hpp"
#include "sennit/detail/sched/registry.hpp"
#include "sennit/detail/sched/shared_timers.hpp"
#include "sennit/detail/sched/sleepers.hpp"
#include "sennit/detail/sched/watchdog.hpp"
#include "sennit/detail/sched/work_ring.hpp"
#include "sennit/detail/sched/worker.hpp"

namespace sennit::detail {

#if !defined(SENNIT_RING_CAPACITY)  // tests make it small
#define SENNIT_RING_CAPACITY 256
#endif
inline constexpr std::size_t ring_capacity = SENNIT_RING_CAPACITY;

// For tests. Runtimes that are made while it is true scatter their fibers: each that becomes ready, or gives
// way, goes on on the worker after the one that it was sent to last.
inline constinit std::atomic<bool> scatter_fibers{false};

// Of a worker whose policy is hybrid, once its slot's budget is spent (parallel_policy.cpp): until that is
// renewed, so many in the ring are to run, and so many have. None are to: that is told at the next dispatch.
struct hybrid_turns {
  unsigned left = 0;
  unsigned had = 0;
};

// What a worker touches at every dispatch: of the ring, too, all but the places in one line.
struct alignas(64) dispatching {
  dispatching(run_policy policy, bool scatters);

  countdown dispatches;  // until the next look outside; others look whether it grows
  unsigned slot_left;
  const bool direct;  // no test, free fences: a fiber that gives way enters the next one itself
  const bool plain;   // and fifo: by going round the ring
  using ring_type = work_ring<fiber*, ring_capacity>;
  ring_type ring;
};

struct parallel_worker final : sennit_worker, dispatching {
  parallel_worker(parallel_runtime& of, unsigned number, run_policy policy, stack_shape usual_stack);

  const run_policy policy;
  // The owner's, seldom.
  parallel_runtime& runtime;
  const unsigned index;
  std::uint32_t random;  // where it begins to steal
  hybrid_turns turns;
  time_point last_watch{};
  // Everybody's.
  detail::inbox<fiber> arrivals;  // pinned here, and woken elsewhere
  shared_timers timers;
  std::atomic<unsigned> seen_dispatches{0};  // the watcher's
  watched_run watched;
  detail::help help;

  const registration known{*this};  // the last member
};

// What the workers of a runtime share.
struct parallel_runtime {
  parallel_runtime(unsigned workers, run_policy policy, stack_shape usual_stack,
                   const watchdog_wish& watched_for, clock::duration time_slice, std::size_t max_fibers);
  ~parallel_runtime();
  parallel_runtime(const parallel_runtime&) = delete;
  parallel_runtime& operator=(const parallel_runtime&) = delete;

  // Ready fibers that no worker has.
  void inject(const fiber_chain& ready) noexcept;
  void stop() noexcept;
  void unwind() noexcept;
  std::size_t fibers() const noexcept;

  sleepers<> asleep;
  std::atomic<unsigned> searching{0};  // workers that look for work: nobody needs to be woken meanwhile
  std::atomic<bool> watched{false};    // a sleeper looks every millisecond whether a worker is stuck
  std::atomic<bool> stopping{false};
  std::atomic<unsigned> guests{0};  // other threads that make a fiber ready just now

  // Ready fibers that no worker has: those made ready from outside, and those that rings had no room for.
  spin_lock injected_lock;
  fiber_chain injected;
  std::atomic<bool> any_injected{false};  // for who has not the lock

  // Finished fibers, for workers that have none.
  spin_lock spare_lock;
  fiber* spare = nullptr;
  struct idle_stacks idle_stacks;  // under spare_lock
  fiber_limit limit;               // under descriptors_lock()

  const stack_shape usual_stack;
  const bool scatters = scatter_fibers.load(std::memory_order_relaxed);
  const watchdog_use watchdog;
  std::vector<std::unique_ptr<parallel_worker>> workers;
  std::vector<std::thread> threads;
};

}  // namespace sennit::detail
