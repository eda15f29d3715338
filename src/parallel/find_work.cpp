// Where a parallel worker looks for work, and how it sleeps when there is none.
#include "find_work.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "sennit/detail/parallel/idling.hpp"

namespace sennit::inline v0_1::detail {

namespace {

using namespace std::chrono_literals;

// A worker that has not dispatched for this long is stuck in a fiber. Others then do its work.
constexpr clock::duration stuck_after = 1ms;

void take_arrivals(parallel_worker& w) noexcept {
  if (w.arrivals.empty())
    return;
  for (fiber* next = w.arrivals.take(); next != nullptr;) {
    fiber* f = next;
    next = f->next;
    parallel_push(w, *f);
  }
}

// Returns the first of the stolen fibers, and queues the others here. Pinned ones go back. (Not during the
// theft: its victim may be waiting for it, and other workers for the victim.)
fiber* keep(parallel_worker& w, fiber_chain& stolen) noexcept {
  fiber* first = nullptr;
  while (fiber* f = stolen.pop())
    if (f->flags.kind == waiter_kind::pinned_fiber)
      parallel_inject(*f);
    else if (first == nullptr)
      first = f;
    else
      parallel_push(w, *f);
  return first;
}

std::uint32_t next_random(parallel_worker& w) noexcept {
  w.random ^= w.random << 13;
  w.random ^= w.random >> 17;
  return w.random ^= w.random << 5;
}

// Returns the first other worker for which `that` is true, beginning anywhere, or null.
template <class Predicate>
parallel_worker* find_other(parallel_worker& w, Predicate that) noexcept {
  const auto& all = w.runtime.workers;
  const std::size_t count = all.size();
  std::size_t at = next_random(w) % count;
  for (std::size_t i = 0; i < count; ++i, at = at + 1 == count ? 0 : at + 1)
    if (all[at] != &w && that(*all[at]))
      return all[at];
  return nullptr;
}

fiber* steal(parallel_worker& w) noexcept {
  if (w.runtime.forces_migration || !w.stealing.may_steal())  // migrating fibers stay where they were sent
    return nullptr;
  fiber* found = nullptr;
  find_other(w, [&](parallel_worker& other) {
    fiber_chain stolen;
    if (const std::size_t count = other.ring.steal_half(stolen); count != 0)
      w.stealing.note_theft(other.stealing, count);
    return (found = keep(w, stolen)) != nullptr;
  });
  return found;
}

// A worker with one fiber beside the running one. That worker will run it itself, unless it has not
// dispatched by the time that this worker has searched everywhere.
class last_runnable_probe {
public:
  explicit last_runnable_probe(parallel_worker& w) noexcept {
    if (w.runtime.forces_migration)
      return;
    at_ = find_other(w, [](const parallel_worker& other) { return other.ring.might_have() == 1; });
    if (at_ != nullptr)
      seen_ = at_->dispatches.value();
  }
  bool seen() const noexcept { return at_ != nullptr; }
  fiber* take(parallel_worker& w) const noexcept {
    if (at_ == nullptr || at_->dispatches.value() != seen_)
      return nullptr;
    fiber_chain stolen;
    at_->ring.steal_lone(stolen);
    fiber* const f = keep(w, stolen);
    if (f != nullptr)
      at_->stealing.wake_for_lone.paid();
    return f;
  }

private:
  parallel_worker* at_ = nullptr;
  unsigned seen_ = 0;
};

// Does the work of other workers that have not dispatched since the last check.
fiber* service_stalled_worker(parallel_worker& w) noexcept {
  fiber* found = nullptr;
  const time_point late = clock::now() - stuck_after;
  for (parallel_worker* const each : w.runtime.workers) {
    if (each == &w)
      continue;
    const unsigned count = each->dispatches.value();
    if (each->seen_dispatches.exchange(count, std::memory_order_relaxed) != count)
      continue;
    if (each->timers.earliest() <= late)
      each->timers.fire_due(clock::now());
    if (each->driver->watching() && !w.runtime.asleep.sleeps(each->index)) {
      const int kept = errno;
      each->driver->serve();
      errno = kept;
    }
    if (found != nullptr)
      continue;
    fiber_chain stolen;
    each->ring.steal_late(stolen);
    if (!each->arrivals.empty() &&
        !w.runtime.asleep.sleeps(each->index))  // a sleeper is being woken for them
      for (fiber* next = each->arrivals.take(); next != nullptr;)
        stolen(std::exchange(next, next->next));
    found = keep(w, stolen);
  }
  return found;
}

// Takes what came from anywhere except the other workers. Returns whether there was anything.
bool poll_all_sources(parallel_worker& w) noexcept {
  bool found = !w.arrivals.empty() || w.runtime.any_injected.load(std::memory_order_relaxed);
  take_arrivals(w);
  take_injected(w);
  retry_refused(w);
  if (w.timers.earliest() != never)
    w.timers.fire_due(clock::now());
  if (w.driver->watching()) {
    const int kept = errno;
    found |= w.driver->wait(time_point::min());
    errno = kept;
  }
  return found;
}

// While no worker sleeps that could watch, busy ones do. Called right after reset_poll_countdown().
void monitor_tick(parallel_worker& w) noexcept {
  if (w.runtime.workers.size() == 1)
    return;
  const time_point now{std::chrono::nanoseconds(w.now)};
  if (now - w.last_watch < stuck_after)
    return;
  w.last_watch = now;
  if (fiber* f = service_stalled_worker(w))
    parallel_push(w, *f);
}

// ---- Idle.

fiber* search(parallel_worker& w) noexcept {
  poll_all_sources(w);
  if (fiber* f = parallel_take_own(w))
    return f;
  return steal(w);
}

// As the core's, for the finished fibers that the workers share.
time_point trim_idle_stacks(parallel_runtime& of, time_point until) noexcept {
  fiber* gone = nullptr;
  time_point due;
  {
    const lock_holder hold(of.spare_lock);
    idle_stacks& state = of.idle_stacks;
    if (of.spare == nullptr)
      return until;
    const time_point now = clock::now();
    if (now < state.due)
      return std::min(until, state.due);
    gone = std::exchange(state.taken, false) ? nullptr : idle_stacks::cut(of.spare);
    due = state.due = now + (gone == nullptr ? idle_stacks::later : idle_stacks::soon);
  }
  idle_stacks::destroy(gone);
  return std::min(until, due);
}

// The description of workers for idling.hpp.
struct idle_policy {
  using worker = parallel_worker;
  using work = fiber*;
  using duration = clock::duration;
  using lone = last_runnable_probe;
  // How often a worker that found nothing searches again before it sleeps.
  static constexpr unsigned search_rounds = 16;
  static constexpr duration stuck_after = detail::stuck_after;
  // The longest period of a watcher when no worker is awake. After that, it sleeps, too.
  static constexpr duration longest_watch = 64ms;

  static time_point now() noexcept { return clock::now(); }
  static fiber* search(parallel_worker& w) noexcept { return detail::search(w); }
  static fiber* service_stalled_worker(parallel_worker& w) noexcept {
    return detail::service_stalled_worker(w);
  }
  static void pause() noexcept {
    for (unsigned i = 0; i < 8; ++i)
      relax();
  }
  static void wait(parallel_worker& w, time_point deadline) noexcept {
    [[maybe_unused]] const counted_sleep sleep;
    w.slice.rest();
    if (w.refused.all.first != nullptr)
      deadline = std::min(deadline, w.refused.next_try);
    w.driver->wait(trim_idle_stacks(w.runtime, deadline));
    w.slice.go_on();
  }
};

// For the end of a runtime, when no fiber is ready. Returns whether another thread has ended a fiber's wait,
// but has not made it ready yet. Such a fiber has not run since: otherwise its wait would have thrown.
bool has_pending_wakeups(const parallel_runtime& of) noexcept {
  bool found = false;
  for (parallel_worker* const each : of.workers)
    fiber_for_each(
        *each,
        [](void* any, fiber& f) { *static_cast<bool*>(any) |= f.flags.shutdown == shutdown_state::pending; },
        &found);
  return found;
}

// The end of a runtime: one worker, on the thread that ends it, runs the fibers that unwind.
fiber* idle_at_the_end(parallel_worker& w) noexcept {
  for (;;) {
    if (fiber* f = search(w))
      return f;
    if (w.timers.earliest() == never && w.runtime.external_wakers.load(std::memory_order_acquire) == 0 &&
        !has_pending_wakeups(w.runtime))
      return search(w) == nullptr ? &w.main_fiber : nullptr;
    w.driver->wait(std::min(w.timers.earliest(), clock::now() + 1ms));
    report_late_end(w);
  }
}

void reset_poll_countdown(parallel_worker& w, poll_result what) noexcept {
  const unsigned dispatches = until_next_poll(w, what);
  w.dispatches.restart(w.runtime.forces_migration ? 1 : dispatches);
}

}  // namespace

fiber* parallel_poll_external_events(parallel_worker& w) noexcept {
  reset_poll_countdown(w, poll_all_sources(w) ? poll_result::found : poll_result::nothing);
  if (w.runtime.asleep.any())
    call_watcher(w);
  else
    monitor_tick(w);
  return w.runtime.stopping.load(std::memory_order_relaxed) && !w.unwinding ? &w.main_fiber : nullptr;
}

fiber* parallel_idle(parallel_worker& w) noexcept {
  clock::duration period = stuck_after;
  w.stealing.became_idle();
  for (;;) {
    reset_poll_countdown(w, poll_result::rested);
    if (w.unwinding)
      return idle_at_the_end(w);
    if (w.runtime.stopping.load(std::memory_order_acquire))
      return &w.main_fiber;
    if (fiber* f = idling<idle_policy>::find_or_sleep(w, period))
      return f;
  }
}

}  // namespace sennit::inline v0_1::detail
