// How workers of a parallel runtime go to sleep, which worker wakes them, and which sleeper watches.
//
// A worker that makes work wakes a sleeper. For work in its own ring it wakes none while another worker
// searches: that one finds the work, or looks once more before it sleeps. The last searcher wakes the next
// sleeper if it has found work. (It may overlook a fiber that is pushed at the same time, because there is
// only a light fence on either side. Then the next sleeper comes a moment later, when the watcher looks.)
//
// While some workers are awake and others sleep, one sleeper is the watcher, which checks whether a worker is
// stuck. A worker that returns with work makes sure that there is a watcher.
//
// IdlePolicy describes the workers, so that the model checker runs this same code.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "sennit/detail/arch/thread_safety.hpp"

namespace sennit::inline v0_1::detail {

// ---- Any thread.

template <class Runtime>
void wake_a_sleeper(Runtime& of) noexcept {
  if (const unsigned chosen = of.asleep.choose(); chosen != of.asleep.none)
    of.workers[chosen]->driver->wake();
}

template <class Runtime>
void wake_unless_searched(Runtime& of) noexcept {
  if (of.searching.load(std::memory_order_relaxed) == 0)
    wake_a_sleeper(of);
}

template <class Runtime, class Chain>
void put_injected(Runtime& of, const Chain& ready) noexcept {
  const lock_holder hold(of.injected_lock);
  of.injected.splice(ready);
  of.any_injected.store(of.injected.size != 0, std::memory_order_relaxed);
}

// ---- A worker.

// Takes the worker's share of what came from outside.
template <class Worker>
void take_injected(Worker& w) noexcept {
  auto& of = w.runtime;
  if (!of.any_injected.load(std::memory_order_relaxed))
    return;
  constexpr std::size_t capacity = Worker::ring_type::capacity;
  const lock_holder hold(of.injected_lock);
  const std::size_t all = of.injected.size;
  const std::size_t room = capacity - w.ring.owned();
  for (auto mine = std::min({all / of.workers.size() + 1, all, room, capacity / 2}); mine != 0; --mine)
    w.ring.push(of.injected.pop());
  of.any_injected.store(of.injected.size != 0, std::memory_order_relaxed);
}

// A busy worker makes sure that a sleeper watches it.
template <class Worker>
void call_watcher(Worker& w) noexcept {
  if (!w.runtime.watched.load(std::memory_order_relaxed) && w.runtime.asleep.any())
    wake_unless_searched(w.runtime);
}

// The idle loop of one worker.
template <class IdlePolicy>
class idling {
  using worker = typename IdlePolicy::worker;
  using work = typename IdlePolicy::work;
  using duration = typename IdlePolicy::duration;
  using time_point = decltype(IdlePolicy::now());

public:
  // Searches, and sleeps once if it finds nothing. `period`: IdlePolicy::stuck_after on the first call.
  static work find_or_sleep(worker& w, duration& period) noexcept {
    const typename IdlePolicy::lone lone(w);
    work found = search_for_a_while(w, lone);
    if (found == work())  // look again at a fiber that came meanwhile, but not at fibers that come and go
      found = sleep_and_watch(w, period, lone.seen() ? 2 : 1);
    if (found != work())
      call_watcher(w);
    return found;
  }

private:
  // Ignores rings with fewer than `worth` fibers, and all rings if stealing does not pay.
  static bool nothing_to_do(const worker& w, std::size_t worth) noexcept {
    const auto& of = w.runtime;
    if (!w.arrivals.still_empty() || of.any_injected.load(std::memory_order_relaxed) ||
        of.stopping.load(std::memory_order_relaxed))
      return false;
    return of.forces_migration || !w.stealing.may_steal() ||
           std::ranges::none_of(of.workers,
                                [worth](const auto& each) { return each->ring.might_have() >= worth; });
  }

  // Sleeps until something comes, or until `deadline`. A worker that does not watch sleeps only while another
  // one does, or all sleep. (If a watcher or waker leaves meanwhile, either it sees that this worker sleeps
  // and wakes it to watch, or this worker sees that.) `worth`: a ring with fewer fibers is not searched
  // again.
  static void sleep(worker& w, time_point deadline, bool watches, std::size_t worth) noexcept {
    auto& of = w.runtime;
    of.asleep.mark_asleep(w.index);
    w.arrivals.mark_asleep();
    if (nothing_to_do(w, worth) &&
        (watches || of.watched.load(std::memory_order_relaxed) || of.asleep.count() == of.workers.size())) {
      IdlePolicy::wait(w, deadline);
      w.stealing.slept();
    }
    w.arrivals.mark_awake();
    of.asleep.mark_awake(w.index);
  }

  // Sleeps. One of the sleepers is the watcher, which checks every millisecond whether a worker is stuck.
  // While no worker is awake, it checks less and less often, and finally stops.
  static work sleep_and_watch(worker& w, duration& period, std::size_t worth) noexcept {
    auto& of = w.runtime;
    const time_point deadline = w.timers.earliest();
    const bool unwatched = period > IdlePolicy::longest_watch;
    if (of.workers.size() == 1 || unwatched || of.watched.exchange(true, std::memory_order_relaxed)) {
      sleep(w, deadline, false, worth);
      period = IdlePolicy::stuck_after;
      return work();
    }
    const time_point watch = IdlePolicy::now() + period;
    sleep(w, std::min(deadline, watch), true, worth);
    const bool in_peace = IdlePolicy::now() >= watch;
    const bool all_asleep = of.asleep.count() + 1 == of.workers.size();
    period = in_peace && all_asleep ? 2 * period : IdlePolicy::stuck_after;
    const work found = in_peace ? IdlePolicy::service_stalled_worker(w) : work();
    of.watched.store(false, std::memory_order_relaxed);
    return found;
  }

  static work search_for_a_while(worker& w, const typename IdlePolicy::lone& lone) noexcept {
    auto& of = w.runtime;
    of.searching.fetch_add(1, std::memory_order_relaxed);
    work found = work();
    for (unsigned round = 0; found == work() && round < IdlePolicy::search_rounds; ++round) {
      found = IdlePolicy::search(w);
      if (found == work())
        IdlePolicy::pause();
    }
    if (found == work())
      found = lone.take(w);
    // The last worker that stops searching wakes the next: there may be more work than it takes.
    if (of.searching.fetch_sub(1, std::memory_order_seq_cst) == 1 && found != work() && w.stealing.pays() &&
        of.asleep.any() && !nothing_to_do(w, 2))
      wake_unless_searched(of);
    return found;
  }
};

}  // namespace sennit::inline v0_1::detail
