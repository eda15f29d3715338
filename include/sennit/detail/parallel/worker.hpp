// The data of a parallel runtime's worker, beside that of every worker (worker.hpp), and the data that the
// workers of a runtime share. For what its fibers do, see worker_inline.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sennit/detail/arch/countdown.hpp"
#include "sennit/detail/arch/owner.hpp"
#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/parallel/shared_timers.hpp"
#include "sennit/detail/parallel/sleepers.hpp"
#include "sennit/detail/parallel/steal_throttle.hpp"
#include "sennit/detail/parallel/work_ring.hpp"
#include "sennit/detail/sched/inbox.hpp"
#include "sennit/detail/sched/registration.hpp"
#include "sennit/detail/sched/watchdog.hpp"
#include "sennit/detail/sched/worker.hpp"

namespace sennit::inline v0_1::detail {

#if !defined(SENNIT_RING_CAPACITY)  // tests make it small
#define SENNIT_RING_CAPACITY 256
#endif
inline constexpr std::size_t ring_capacity = SENNIT_RING_CAPACITY;

// For tests. In runtimes made while it is true, fibers migrate all the time. A fiber that becomes ready, or
// yields, moves to the worker after its last one.
inline constinit std::atomic<bool> force_migration{false};

// For the policy hybrid, once the next slot's budget is spent (policy.cpp). Until it is renewed, `left`
// more fibers of the ring must run, and `had` have run. The next dispatch notices that none are left.
struct hybrid_turns {
  unsigned left = 0;
  unsigned had = 0;
};

// The data that a worker touches at every dispatch: in one line, with the ring except its places.
struct alignas(64) dispatching {
  dispatching(run_policy policy, bool forces_migration);

  countdown dispatches;  // until the next poll; other workers read it to see dispatches
  unsigned next_slot_left;
  const bool direct;  // no test, free fences: a fiber that yields enters the next one itself
  const bool plain;   // and fifo, by going round the ring
  using ring_type = work_ring<fiber*, ring_capacity>;
  ring_type ring;
};

struct parallel_worker final : sennit_worker, dispatching {
  parallel_worker(parallel_runtime& of, unsigned number, run_policy policy, stack_shape usual_stack);
  ~parallel_worker();

  const run_policy policy;
  // Used by the owner, rarely.
  parallel_runtime& runtime;
  const unsigned index;
  std::uint32_t random;  // where it begins to steal
  hybrid_turns turns;
  time_point last_watch{};
  // Used by all workers.
  detail::inbox<fiber> arrivals;  // fibers that are pinned here and woken elsewhere
  shared_timers timers;
  std::atomic<unsigned> seen_dispatches{0};  // for the watcher
  watched_run watched;
  detail::steal_throttle stealing;

  const registration known{*this};  // the last member
};

// A runtime's workers, which it owns.
class worker_list {
public:
  worker_list() = default;
  ~worker_list();
  worker_list(const worker_list&) = delete;
  worker_list& operator=(const worker_list&) = delete;

  void add(parallel_worker* made) noexcept { all_[count_++] = made; }
  std::size_t size() const noexcept { return count_; }
  parallel_worker* const* begin() const noexcept { return all_; }
  parallel_worker* const* end() const noexcept { return all_ + count_; }
  parallel_worker* operator[](std::size_t number) const noexcept { return all_[number]; }
  parallel_worker* front() const noexcept { return all_[0]; }

private:
  std::size_t count_ = 0;
  parallel_worker* all_[sleepers<>::most_workers];
};

struct worker_threads;  // in src/parallel/runtime.cpp
void destroy_owned(worker_threads* object) noexcept;

// The data that a runtime's workers share.
struct parallel_runtime {
  parallel_runtime(unsigned workers, run_policy policy, stack_shape usual_stack,
                   const watchdog_options& watched_for, clock::duration time_slice, std::size_t max_fibers);
  ~parallel_runtime();
  parallel_runtime(const parallel_runtime&) = delete;
  parallel_runtime& operator=(const parallel_runtime&) = delete;

  // Adds ready fibers that no worker has.
  void inject(const fiber_chain& ready) noexcept;
  void stop() noexcept;
  void unwind() noexcept;
  std::size_t fibers() const noexcept;

  sleepers<> asleep;
  std::atomic<unsigned> searching{0};  // workers that search; meanwhile no sleeper need be woken
  std::atomic<bool> watched{false};    // a sleeper checks every millisecond whether a worker is stuck
  std::atomic<bool> stopping{false};
  std::atomic<unsigned> external_wakers{0};  // other threads that are making a fiber ready

  // Ready fibers that no worker has: made ready from outside, or too many for a ring.
  spin_lock injected_lock;
  fiber_chain injected SENNIT_GUARDED_BY(injected_lock);
  std::atomic<bool> any_injected{false};  // for readers without the lock

  // Finished fibers for workers that have none.
  spin_lock spare_lock;
  fiber* spare SENNIT_GUARDED_BY(spare_lock) = nullptr;
  struct idle_stacks idle_stacks SENNIT_GUARDED_BY(spare_lock);
  fiber_limit limit;  // under descriptors_lock()

  const stack_shape usual_stack;
  const bool forces_migration = force_migration.load(std::memory_order_relaxed);
  const watchdog_use watchdog;
  worker_list workers;
  owner<worker_threads> threads;
};

}  // namespace sennit::inline v0_1::detail
