// The deciders of a parallel runtime's workers and what they call: who runs next, where work is looked for,
// and how a worker sleeps.
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

sennit_decision enter(worker& w, fiber* next) noexcept {
  w.ready.current = next == &w.host ? nullptr : next;
  return entering(w, *next);
}

// ---- Where work comes from.

// The slot's fiber, as long as its budget lasts; then the ring's oldest (lifo: newest).
fiber* take_own(parallel_worker& w) noexcept {
  if (w.ring.slot_taken()) {
    if (fiber* woken = w.ring.take_slot()) {
      if (w.slot_left != 0 || w.ring.owned() == 0) {
        w.slot_left -= w.slot_left != 0;
        return woken;
      }
      w.slot_left = slot_budget;
      parallel_push(w, *woken);
    }
  }
  w.slot_left = slot_budget;
  return w.lifo ? w.ring.pop_newest() : w.ring.pop();
}

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

fiber* steal(parallel_worker& w) noexcept {
  if (w.runtime.scatters)  // they are to stay where they were sent
    return nullptr;
  const auto& all = w.runtime.workers;
  const std::size_t count = all.size();
  std::size_t at = next_random(w) % count;
  for (std::size_t i = 0; i < count; ++i, at = at + 1 == count ? 0 : at + 1) {
    if (all[at].get() == &w)
      continue;
    fiber_chain stolen;
    all[at]->ring.steal_half(stolen);
    if (fiber* f = keep(w, stolen))
      return f;
  }
  return nullptr;
}

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

// Every so many dispatches. The host, if the worker is to end.
[[gnu::noinline, gnu::cold]] fiber* look_outside(parallel_worker& w) noexcept {
  w.poll_at = w.dispatches.load(std::memory_order_relaxed) + (w.unwinding ? 1 : w.poll_every);
  look_around(w);
  if (w.runtime.asleep.any())
    call_watcher(w);
  else
    watch_beside(w);
  return w.runtime.stopping.load(std::memory_order_relaxed) && !w.unwinding ? &w.host : nullptr;
}

// ---- Idle.

fiber* search(parallel_worker& w) noexcept {
  look_around(w);
  if (fiber* f = take_own(w))
    return f;
  return steal(w);
}

bool nothing_to_do(const parallel_worker& w) noexcept {
  const parallel_runtime& of = w.runtime;
  if (!w.arrivals.still_empty() || of.any_injected.load(std::memory_order_relaxed) ||
      of.stopping.load(std::memory_order_relaxed))
    return false;
  return of.scatters ||
         std::ranges::none_of(of.workers, [](const auto& each) { return each->ring.might_have() >= 2; });
}

// Sleeps until something comes, or `deadline`. `unwatched`: not unless all sleep. (Who wakes meanwhile sees
// us asleep and has us watch, or we see it awake.)
void sleep(parallel_worker& w, time_point deadline, bool unwatched) noexcept {
  w.runtime.asleep.say_asleep(w.index);
  w.arrivals.say_asleep();
  if (nothing_to_do(w) && (!unwatched || w.runtime.asleep.count() == w.runtime.workers.size()))
    w.driver->wait(deadline);
  w.arrivals.say_awake();
  w.runtime.asleep.say_awake(w.index);
}

// Sleeps. One of the sleepers is the watcher: it looks every millisecond whether a worker is stuck, less and
// less often while nobody is awake, and in the end not at all.
fiber* sleep_and_watch(parallel_worker& w, clock::duration& period) noexcept {
  parallel_runtime& of = w.runtime;
  const time_point deadline = w.timers.earliest();
  const bool unwatched = period > longest_watch;
  if (of.workers.size() == 1 || unwatched || of.watched.exchange(true, std::memory_order_relaxed)) {
    sleep(w, deadline, unwatched);
    period = stuck_after;
    return nullptr;
  }
  const time_point watch = clock::now() + period;
  sleep(w, std::min(deadline, watch), false);
  const bool in_peace = clock::now() >= watch;
  const bool all_asleep = of.asleep.count() + 1 == of.workers.size();
  period = in_peace && all_asleep ? 2 * period : stuck_after;
  fiber* const found = in_peace ? serve_stuck(w) : nullptr;
  of.watched.store(false, std::memory_order_relaxed);
  return found;
}

fiber* search_for_a_while(parallel_worker& w) noexcept {
  parallel_runtime& of = w.runtime;
  of.searching.fetch_add(1, std::memory_order_relaxed);
  fiber* found = nullptr;
  for (unsigned round = 0; found == nullptr && round < search_rounds; ++round) {
    found = search(w);
    for (unsigned pause = 0; found == nullptr && pause < 8; ++pause)
      relax();
  }
  // Who stops searching wakes the next if it was the last: there may be more than it takes.
  if (of.searching.fetch_sub(1, std::memory_order_seq_cst) == 1 && found != nullptr && of.asleep.any() &&
      !nothing_to_do(w))
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

[[gnu::noinline, gnu::cold]] fiber* idle(parallel_worker& w) noexcept {
  clock::duration period = stuck_after;
  for (;;) {
    w.poll_at = w.dispatches.load(std::memory_order_relaxed) + w.poll_every;
    if (w.unwinding)
      return idle_at_the_end(w);
    if (w.runtime.stopping.load(std::memory_order_acquire))
      return &w.host;
    fiber* f = search_for_a_while(w);
    if (f == nullptr)
      f = sleep_and_watch(w, period);
    if (f != nullptr) {
      call_watcher(w);
      return f;
    }
  }
}

// Among calls that only spawn_now, and are done before anybody else's turn comes: who waits for a turn, and
// not for what it has called.
fiber* take_other(parallel_worker& w) noexcept {
  fiber* const oldest = direct_entry ? w.ring.oldest() : nullptr;
  return oldest != nullptr && !parallel_is_entering(*oldest) ? w.ring.pop() : nullptr;
}

// Enters a fiber that is the worker's already, unless it is time for others.
sennit_decision dispatch(parallel_worker& w, fiber& next) noexcept {
  if (!parallel_dispatch(w)) [[unlikely]] {
    fiber* other = look_outside(w);
    if (other == nullptr)
      other = take_other(w);
    if (other != nullptr) {
      parallel_push(w, next);
      return enter(w, other);
    }
  }
  return enter(w, &next);
}

// One gives way when it is time to look outside, somebody is in the slot, or always in an unusual runtime; or
// is to give up its stack, and does not give way yet.
[[gnu::noinline]] sennit_decision yield_slow(parallel_worker& w, fiber& f) noexcept {
  f.word = w.unwinding && parallel_told(f);
  if (f.word != 0)
    return {f.context, std::exchange(f.word, 0)};
  if ((f.flags.unusual & yields_away) != 0)
    return {f.context, told_to_go_on};
  w.ready.current = nullptr;
  if (f.flags.kind == waiter_kind::scattered_fiber && !w.unwinding) [[unlikely]] {
    count_block(yield_reason, true);
    parallel_requeue(w, f);
    return parallel_next(w);
  }
  const bool poll = !parallel_dispatch(w);
  fiber* next = poll ? look_outside(w) : nullptr;
  if (next == nullptr)
    next = take_own(w);  // before the one that gives way is anybody's
  if (next == nullptr)
    return enter(w, &f);
  count_block(yield_reason, true);
  parallel_push(w, f);
  return enter(w, next);
}

[[gnu::noinline, gnu::cold]] sennit_decision yield_contended(parallel_worker& w, fiber& f) noexcept {
  count_block(yield_reason, true);
  return enter(w, w.ring.rotate_contended(&f));
}

}  // namespace

sennit_decision parallel_next(parallel_worker& w) noexcept {
  if (!parallel_dispatch(w)) [[unlikely]]
    if (fiber* host = look_outside(w))
      return enter(w, host);
  fiber* next = take_own(w);
  if (next == nullptr) [[unlikely]]
    next = idle(w);
  return enter(w, next);
}

// Those that are pinned stay, but where no others look. (The ring may have to wait for a thief: not with a
// lock held.)
void parallel_overflow(parallel_worker& w, fiber& f) noexcept {
  fiber_chain moved;
  const auto move = [&](fiber& each) {
    if (each.flags.kind == waiter_kind::pinned_fiber && !w.unwinding)
      parallel_send(w, each);
    else
      moved(&each);
  };
  for (std::size_t i = 0; i < ring_capacity / 2; ++i)
    if (fiber* oldest = w.ring.pop())
      move(*oldest);
  if (!w.ring.push(&f))  // the newest stays the newest
    move(f);
  w.runtime.inject(moved);
}

void parallel_requeue(parallel_worker& w, fiber& f) noexcept {
  parallel_say_ready(f, fiber_status::notified);
  if (f.flags.kind == waiter_kind::scattered_fiber && !w.unwinding)
    parallel_inject(f);
  else
    parallel_push(w, f);
}

bool parallel_told(fiber& f) noexcept {
  if (std::exchange(f.flags.told, telling::done) == telling::done)
    return false;
  f.flags.status = fiber_status::unwinding;
  return true;
}

extern "C" {

sennit_decision sennit_decide_parallel_host(sennit_context self, void* argument) {
  auto& w = *static_cast<parallel_worker*>(argument);
  w.host.context = self;
  *static_cast<sennit_context*>(w.stack) = self;
  return parallel_next(w);
}

sennit_decision sennit_decide_parallel_yield(sennit_context self, void* argument) {
  using rotation = parallel_worker::ring_type::rotation;
  auto& w = *static_cast<parallel_worker*>(argument);
  fiber& f = *w.ready.current;
  f.context = self;
  const unsigned count = w.dispatches.load(std::memory_order_relaxed) + 1;
  if (!w.plain || w.ring.slot_taken() || count == w.poll_at || (f.flags.unusual & yields_away) != 0)
      [[unlikely]]
    return yield_slow(w, f);
  w.dispatches.store(count, std::memory_order_relaxed);
  fiber* next;
  const rotation how = w.ring.rotate(&f, next);
  if (how != rotation::done) [[unlikely]]
    return how == rotation::nobody_else ? sennit_decision{self, 0} : yield_contended(w, f);
  count_block(yield_reason, true);
  w.ready.current = next;
  return entering(w, *next);
}

// The running fiber blocks without a stack.
sennit_decision sennit_decide_parallel_become(sennit_context self, void*) {
  parallel_worker& w = running_parallel();
  fiber& f = *std::exchange(w.ready.current, nullptr);
  stack_give_up(w, f, self);
  if (w.unwinding && parallel_told(f)) [[unlikely]]
    return enter(w, &f);
  f.flags.status = fiber_status::parked;
  if (file_stackless(f))
    return parallel_next_quickly(w);
  f.flags.status = fiber_status::notified;
  return dispatch(w, f);
}

// The running fiber has ended. Once its end is known, its descriptor and its stack may be used again.
sennit_decision sennit_decide_parallel_finish([[maybe_unused]] sennit_context self, void*) {
  parallel_worker& w = running_parallel();
  fiber& done = *std::exchange(w.ready.current, nullptr);
  done.context = direct_entry ? done.frame->context : self;
  fiber* const newest = direct_entry ? w.ring.newest() : nullptr;
  const bool was_entered = newest != nullptr && parallel_is_entering(*newest, done);
  // It may be long until it is joined, and others block without a stack to need fewer.
  if (done.flags.unusual && done.ended.load(std::memory_order_relaxed) == ended_not_yet)
    fiber_detach_frame(w, done);
  const std::uintptr_t observer = done.ended.exchange(ended_already, std::memory_order_acq_rel);
  if (observer == ended_unobserved) {
    if (done.error != nullptr)
      fiber_terminate(done, *static_cast<std::exception_ptr*>(done.error));
    parallel_give(done);
  } else if (observer != ended_not_yet) {
    deliver(end_slot_wait(*reinterpret_cast<waiter*>(observer & ~ended_claimed),
                          reinterpret_cast<std::uintptr_t>(&done)));
  }
  fiber* const parent = was_entered ? w.ring.pop_newest() : nullptr;
  return parent != nullptr ? dispatch(w, *parent) : parallel_next(w);
}

// The running fiber has made a child, which runs now; itself is the next to run, unless others take it.
sennit_decision sennit_decide_parallel_enter_new(sennit_context self, void* child) {
  parallel_worker& w = running_parallel();
  fiber& parent = *std::exchange(w.ready.current, nullptr);
  auto& entered = *static_cast<fiber*>(child);
  parent.context = self;
  if (w.unwinding && parallel_told(parent)) {
    w.ready.current = &parent;
    parallel_push(w, entered);
    return {parent.context, 1};
  }
  if (w.runtime.scatters) {
    entered.flags.kind = waiter_kind::scattered_fiber;
    parallel_push_woken(w, entered);
    parallel_inject(parent);
    return parallel_next(w);
  }
  parallel_say_entering(parent, entered);
  fiber* other = nullptr;
  if (!parallel_dispatch(w)) {
    other = look_outside(w);
    if (other == nullptr)
      other = take_other(w);
  }
  parallel_push(w, parent);
  if (other == nullptr)
    return enter(w, &entered);
  parallel_push_woken(w, entered);
  return enter(w, other);
}

}  // extern "C"

sennit_decision parallel_become(coroutine_frame& frame, continuation& next) noexcept {
  for (;;) {
    parallel_worker& w = running_parallel();
    if (w.unwinding || !parallel_may_dispatch(w) || !may_keep(w, frame)) [[unlikely]] {
      round_ended(frame, next);
      suspend(w, sennit_decide_parallel_become, &w, false);
    }
    parallel_dispatch(w);
    fiber& f = *std::exchange(w.ready.current, nullptr);
    stack_detach(f, next);
    f.flags.status = fiber_status::parked;
    fiber* entered = &f;
    const bool waits = file_stackless(f);
    if (waits)
      entered = take_own(w);
    else
      f.flags.status = fiber_status::notified;
    if (entered == nullptr)
      suspend(w, sennit_decide_after_handoff, &frame, false);
    w.ready.current = entered;
    if (!may_have(w, *entered, frame)) {
      count_stacks(-1);
      frame_keep(w, frame);
      return entering(w, *entered);
    }
    if (waits)
      count_handoff();
    if (!run_resumed(frame, parallel_round<resumed>, *entered, next))
      return parallel_finish(*entered);
  }
}

}  // namespace sennit::detail
