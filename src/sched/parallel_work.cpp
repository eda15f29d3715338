// Where a parallel worker looks for work, and how it sleeps when there is none.
#include "parallel_work.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "sennit/detail/sched/wait.hpp"

namespace sennit::detail {

namespace {

using namespace std::chrono_literals;

// How often a worker that found nothing looks again before it sleeps.
constexpr unsigned search_rounds = 16;
// A worker that has not dispatched for this long is stuck in a fiber: others serve what waits for it.
constexpr clock::duration stuck_after = 1ms;
// How seldom a watcher looks in the end, when nobody is awake; then it sleeps too.
constexpr clock::duration longest_watch = 64ms;

void take_arrivals(parallel_worker& w) noexcept {
  if (w.arrivals.empty())
    return;
  for (fiber* next = w.arrivals.take(); next != nullptr;) {
    fiber* f = next;
    next = f->next;
    parallel_push(w, *f);
  }
}

// This worker's share of what came from outside.
void take_injected(parallel_worker& w) noexcept {
  parallel_runtime& of = w.runtime;
  if (!of.any_injected.load(std::memory_order_relaxed))
    return;
  const std::lock_guard hold(of.injected_lock);
  const std::size_t all = of.injected.size;
  const std::size_t room = ring_capacity - w.ring.owned();
  for (auto mine = std::min({all / of.workers.size() + 1, all, room, ring_capacity / 2}); mine != 0; --mine)
    w.ring.push(of.injected.pop());
  of.any_injected.store(of.injected.size != 0, std::memory_order_relaxed);
}

// What was stolen: the first is returned, the others are ours from now on. Those that are pinned go back.
// (Not while the theft goes on: its victim may be waiting for it, and whoever waits for that one.)
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

// The first of the others of whom `that` is true, beginning anywhere; or null.
template <class Predicate>
parallel_worker* find_other(parallel_worker& w, Predicate that) noexcept {
  const auto& all = w.runtime.workers;
  const std::size_t count = all.size();
  std::size_t at = next_random(w) % count;
  for (std::size_t i = 0; i < count; ++i, at = at + 1 == count ? 0 : at + 1)
    if (all[at].get() != &w && that(*all[at]))
      return all[at].get();
  return nullptr;
}

fiber* steal(parallel_worker& w) noexcept {
  if (w.runtime.scatters)  // they are to stay where they were sent
    return nullptr;
  fiber* found = nullptr;
  find_other(w, [&](parallel_worker& other) {
    fiber_chain stolen;
    other.ring.steal_half(stolen);
    return (found = keep(w, stolen)) != nullptr;
  });
  return found;
}

// A worker with one fiber besides the one that runs: it comes to that one itself, unless it has not
// dispatched by the time that this one has looked everywhere.
class lone_fiber {
public:
  explicit lone_fiber(parallel_worker& w) noexcept {
    if (w.runtime.scatters)
      return;
    at_ = find_other(w, [](const parallel_worker& other) { return other.ring.might_have() == 1; });
    if (at_ != nullptr)
      seen_ = at_->dispatches.load(std::memory_order_relaxed);
  }
  bool seen() const noexcept { return at_ != nullptr; }
  fiber* take(parallel_worker& w) const noexcept {
    if (at_ == nullptr || at_->dispatches.load(std::memory_order_relaxed) != seen_)
      return nullptr;
    fiber_chain stolen;
    at_->ring.steal_lone(stolen);
    fiber* const f = keep(w, stolen);
    if (f != nullptr)
      at_->lone.paid();
    return f;
  }

private:
  parallel_worker* at_ = nullptr;
  unsigned seen_ = 0;
};

// What other workers have not come to, for they have not dispatched since the last watch.
fiber* serve_stuck(parallel_worker& w) noexcept {
  fiber* found = nullptr;
  const time_point late = clock::now() - stuck_after;
  for (const auto& each : w.runtime.workers) {
    if (each.get() == &w)
      continue;
    const unsigned count = each->dispatches.load(std::memory_order_relaxed);
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
    found = keep(w, stolen);
  }
  return found;
}

// From anywhere but the other workers.
void look_around(parallel_worker& w) noexcept {
  take_arrivals(w);
  take_injected(w);
  if (w.timers.earliest() != never)
    w.timers.fire_due(clock::now());
  if (w.driver->watching()) {
    const int kept = errno;
    w.driver->wait(time_point::min());
    errno = kept;
  }
}

// A busy worker sees to it that one of those that sleep watches it.
void call_watcher(parallel_worker& w) noexcept {
  if (!w.runtime.watched.load(std::memory_order_relaxed) && w.runtime.asleep.any())
    parallel_wake_one(w.runtime);
}

// While nobody sleeps who could watch, those who are busy do: now and then, for it takes a look at the clock.
void watch_beside(parallel_worker& w) noexcept {
  if (w.runtime.workers.size() == 1 || ++w.polls % 16 != 0)
    return;
  const time_point now = clock::now();
  if (now - w.last_watch < stuck_after)
    return;
  w.last_watch = now;
  if (fiber* f = serve_stuck(w))
    parallel_push(w, *f);
}

// ---- Idle.

fiber* search(parallel_worker& w) noexcept {
  look_around(w);
  if (fiber* f = parallel_take_own(w))
    return f;
  return steal(w);
}

// But for rings with fewer than `worth`.
bool nothing_to_do(const parallel_worker& w, std::size_t worth) noexcept {
  const parallel_runtime& of = w.runtime;
  if (!w.arrivals.still_empty() || of.any_injected.load(std::memory_order_relaxed) ||
      of.stopping.load(std::memory_order_relaxed))
    return false;
  return of.scatters || std::ranges::none_of(of.workers, [worth](const auto& each) {
           return each->ring.might_have() >= worth;
         });
}

// Sleeps until something comes, or `deadline`. `unwatched`: not unless all sleep. (Who wakes meanwhile sees
// us asleep and has us watch, or we see it awake.) `worth`: what a ring must have to be searched once more.
void sleep(parallel_worker& w, time_point deadline, bool unwatched, std::size_t worth) noexcept {
  w.runtime.asleep.say_asleep(w.index);
  w.arrivals.say_asleep();
  if (nothing_to_do(w, worth) && (!unwatched || w.runtime.asleep.count() == w.runtime.workers.size())) {
    w.slice.rest();
    w.driver->wait(trim_idle_stacks(w.runtime, deadline));
    w.slice.go_on();
  }
  w.arrivals.say_awake();
  w.runtime.asleep.say_awake(w.index);
}

// Sleeps. One of the sleepers is the watcher: it looks every millisecond whether a worker is stuck, less and
// less often while nobody is awake, and in the end not at all.
fiber* sleep_and_watch(parallel_worker& w, clock::duration& period, std::size_t worth) noexcept {
  parallel_runtime& of = w.runtime;
  const time_point deadline = w.timers.earliest();
  const bool unwatched = period > longest_watch;
  if (of.workers.size() == 1 || unwatched || of.watched.exchange(true, std::memory_order_relaxed)) {
    sleep(w, deadline, unwatched, worth);
    period = stuck_after;
    return nullptr;
  }
  const time_point watch = clock::now() + period;
  sleep(w, std::min(deadline, watch), false, worth);
  const bool in_peace = clock::now() >= watch;
  const bool all_asleep = of.asleep.count() + 1 == of.workers.size();
  period = in_peace && all_asleep ? 2 * period : stuck_after;
  fiber* const found = in_peace ? serve_stuck(w) : nullptr;
  of.watched.store(false, std::memory_order_relaxed);
  return found;
}

fiber* search_for_a_while(parallel_worker& w, const lone_fiber& lone) noexcept {
  parallel_runtime& of = w.runtime;
  of.searching.fetch_add(1, std::memory_order_relaxed);
  fiber* found = nullptr;
  for (unsigned round = 0; found == nullptr && round < search_rounds; ++round) {
    found = search(w);
    for (unsigned pause = 0; found == nullptr && pause < 8; ++pause)
      relax();
  }
  if (found == nullptr)
    found = lone.take(w);
  // Who stops searching wakes the next if it was the last: there may be more than it takes.
  if (of.searching.fetch_sub(1, std::memory_order_seq_cst) == 1 && found != nullptr && of.asleep.any() &&
      !nothing_to_do(w, 2))
    parallel_wake_one(of);
  return found;
}

// At the end of a runtime, when nobody is ready: whether another thread has taken a fiber out of what it
// waited for, and is yet to make it ready. Such a fiber has not run since, or it would have been told to
// leave.
bool any_owed(const parallel_runtime& of) noexcept {
  bool found = false;
  for (const auto& each : of.workers)
    fiber_for_each(
        *each, [](void* any, fiber& f) { *static_cast<bool*>(any) |= f.flags.told == telling::due; }, &found);
  return found;
}

// The end of a runtime: one worker, on the thread that ends it, and fibers that leave.
fiber* idle_at_the_end(parallel_worker& w) noexcept {
  for (;;) {
    if (fiber* f = search(w))
      return f;
    if (w.timers.earliest() == never && w.runtime.guests.load(std::memory_order_acquire) == 0 &&
        !any_owed(w.runtime))
      return search(w) == nullptr ? &w.host : nullptr;
    w.driver->wait(std::min(w.timers.earliest(), clock::now() + 1ms));
  }
}

void renew_poll(parallel_worker& w, unsigned dispatches) noexcept {
  w.poll_at = w.dispatches.load(std::memory_order_relaxed) + dispatches;
  w.now = coarse_now();
}

}  // namespace

bool lone_calls::look() noexcept {
  const time_point now = clock::now();
  const bool late = now >= next_;
  until_look_ = unseen_ = late ? 1 : std::min(2 * unseen_, most_unseen);
  if (late) {
    const std::int64_t pause = pause_.load(std::memory_order_relaxed);
    pause_.store(std::min(2 * pause, longest), std::memory_order_relaxed);
    next_ = now + std::chrono::nanoseconds(pause);
  }
  return late;
}

fiber* parallel_look_outside(parallel_worker& w) noexcept {
  renew_poll(w, w.unwinding ? 1 : w.poll_every);
  look_around(w);
  if (w.runtime.asleep.any())
    call_watcher(w);
  else
    watch_beside(w);
  return w.runtime.stopping.load(std::memory_order_relaxed) && !w.unwinding ? &w.host : nullptr;
}

fiber* parallel_idle(parallel_worker& w) noexcept {
  clock::duration period = stuck_after;
  for (;;) {
    renew_poll(w, w.poll_every);
    if (w.unwinding)
      return idle_at_the_end(w);
    if (w.runtime.stopping.load(std::memory_order_acquire))
      return &w.host;
    const lone_fiber lone(w);
    fiber* f = search_for_a_while(w, lone);
    if (f == nullptr)  // a second look at one that came meanwhile; but not at those that come and go
      f = sleep_and_watch(w, period, lone.seen() ? 2 : 1);
    if (f != nullptr) {
      call_watcher(w);
      return f;
    }
  }
}

}  // namespace sennit::detail
