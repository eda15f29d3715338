// The scheduler steps of a parallel runtime's workers: they choose the next fiber.
#include <cerrno>

#include "find_work.hpp"
#include "sennit/detail/sched/hooks.hpp"

namespace sennit::inline v0_1::detail {

namespace {

sennit_decision enter(worker& w, fiber* next) noexcept {
  w.ready.current = next == &w.main_fiber ? nullptr : next;
  return entering(w, *next);
}

// Some fibers only call spawn_now, and their children end before other fibers get a turn. Returns a fiber
// that waits for its turn, not for its child.
fiber* take_other(parallel_worker& w) noexcept {
  fiber* const oldest = direct_entry ? w.ring.oldest() : nullptr;
  return oldest != nullptr && !is_entering(*oldest) ? w.ring.pop() : nullptr;
}

// Enters a fiber that the worker has already, unless others are due.
sennit_decision dispatch(parallel_worker& w, fiber& next) noexcept {
  if (!parallel_dispatch(w)) [[unlikely]] {
    fiber* other = parallel_poll_external_events(w);
    if (other == nullptr)
      other = take_other(w);
    if (other != nullptr) {
      parallel_push(w, next);
      return enter(w, other);
    }
  }
  return enter(w, &next);
}

// A yield in a scheduler step: a poll is due, a fiber is in the next slot, or the runtime is unusual. Or the
// fiber must give up its stack, and does not yield yet.
sennit_decision yield_slow(parallel_worker& w, fiber& f) noexcept {
  f.word = w.unwinding && deliver_shutdown(f);
  if (f.word != 0)
    return {f.context, std::exchange(f.word, 0)};
  if ((f.flags.slow_path & has_yield_continuation) != 0)
    return {f.context, resume_via_continuation};
  w.ready.current = nullptr;
  if (f.flags.kind == waiter_kind::migrating_fiber && !w.unwinding) [[unlikely]] {
    count_block(yield_reason);
    parallel_requeue(w, f);
    return parallel_next(w);
  }
  const bool poll = !parallel_dispatch(w);
  fiber* next = poll ? parallel_poll_external_events(w) : nullptr;
  if (next == nullptr)
    next = parallel_take_own(w);  // before other workers may take the yielding one
  if (next == nullptr)
    return enter(w, &f);
  count_block(yield_reason);
  parallel_push_yielding(w, f);
  return enter(w, next);
}

// The joiner left by a dispatch, and takes its child's place: this is no dispatch, and passes no other fiber.
//
// Returns the fiber that is parked to join the ending one, if it may be entered directly. It waits only for
// that, so no other thread can refer to either of the two.
[[gnu::always_inline]] inline fiber* joiner_of(parallel_worker& w, fiber& ends) noexcept {
  const std::uintptr_t observer = ends.ended.load(std::memory_order_acquire);
  if (!direct_entry || observer <= ended_unobserved || (observer & ended_multi) != 0 || w.unwinding)
    return nullptr;
  auto* const joiner = static_cast<fiber*>(reinterpret_cast<waiter*>(observer));
  const bool may_run_here = joiner->flags.kind == waiter_kind::fiber
                                ? joiner->home->shared == &w.runtime
                                : joiner->flags.kind == waiter_kind::pinned_fiber && joiner->home == &w;
  return may_run_here ? joiner : nullptr;
}

// The fiber was entered by spawn_now, and its parent still waits right behind it: the parent continues, as
// after a call. No other fiber can have the handle yet.
[[gnu::noinline]] sennit_decision finish_call(parallel_worker& w, fiber& self,
                                              coroutine_frame& frame) noexcept {
  fiber* const parent = parallel_may_dispatch(w) ? w.ring.pop_newest() : nullptr;
  if (parent == nullptr) [[unlikely]]
    return fiber_finish_slow(w);
  parallel_dispatch(w);
  self.context = frame.context;
  self.ended.store(ended_already, std::memory_order_relaxed);
  w.ready.current = parent;
  return sennit_round_leave({parent->context, 0});
}

}  // namespace

namespace {

bool take_joined(parallel_worker& w, fiber& child) noexcept {
  constexpr std::size_t among = 8;  // a fiber often spawns several, and joins them in their order
  return !w.ring.next_slot_taken() && w.policy != run_policy::lifo && !w.unwinding &&
         !w.runtime.forces_migration && w.ring.take(&child, among);
}

}  // namespace

void parallel_bring_forward(parallel_worker& w, fiber& child) noexcept {
  if (take_joined(w, child))
    w.ring.put_next_slot(&child);
}

sennit_decision parallel_prepare_join(parallel_worker& w, fiber& child) noexcept {
  if (!direct_entry || !parallel_may_dispatch(w)) [[unlikely]] {
    parallel_bring_forward(w, child);
    return {};
  }
  if (!take_joined(w, child))
    return {};
  parallel_dispatch(w);
  fiber& self = *w.ready.current;
  count_block(join_reason);
  self.since = w.parks_at;
  child.ended.store(reinterpret_cast<std::uintptr_t>(&self), std::memory_order_relaxed);
  w.ready.current = &child;
  return entering(w, child);
}

// Other functions are tail-called, as in parallel_next.
sennit_decision parallel_finish(coroutine_frame& frame) noexcept {
  parallel_worker& w = running_parallel();
  fiber& self = *w.ready.current;
  count_stacks(-1);
  self.flags.status = fiber_status::finished;
  if (fiber* const parent = direct_entry ? w.ring.newest() : nullptr;
      parent != nullptr && is_entering(*parent, self))
    return finish_call(w, self, frame);
  fiber* const joiner = joiner_of(w, self);
  if (joiner == nullptr) [[unlikely]]
    return fiber_finish_slow(w);
  self.context = frame.context;
  self.ended.store(ended_already, std::memory_order_relaxed);
  const auto word = reinterpret_cast<std::uintptr_t>(&self);
  joiner->flags.status = fiber_status::notified;
  joiner->word = word;
  w.ready.current = joiner;
  if (joiner->flags.stackless) [[unlikely]]
    return sennit_round_leave(stack_for(w, *joiner));
  return sennit_round_leave({joiner->context, word});
}

namespace {

[[gnu::noinline]] sennit_decision next_or_idle(parallel_worker& w) noexcept {
  fiber* const next = parallel_take_own(w);
  return enter(w, next != nullptr ? next : parallel_idle(w));
}

[[gnu::noinline, gnu::cold]] sennit_decision poll_for_next(parallel_worker& w) noexcept {
  fiber* const main_fiber = parallel_poll_external_events(w);
  return main_fiber != nullptr ? enter(w, main_fiber) : next_or_idle(w);
}

}  // namespace

// Tail-calls other functions by a jump, so it need not save registers.
sennit_decision parallel_next(parallel_worker& w) noexcept {
  if (!parallel_dispatch(w)) [[unlikely]]
    return poll_for_next(w);
  if (!w.plain || w.ring.next_slot_taken()) [[unlikely]]
    return next_or_idle(w);
  w.next_slot_left = next_slot_budget;
  fiber* const next = w.ring.pop();
  if (next == nullptr) [[unlikely]]
    return next_or_idle(w);
  w.ready.current = next;
  if (next->flags.stackless) [[unlikely]]
    return stack_for(w, *next);
  return {next->context, next->word};
}

// Pinned fibers stay, in the inbox, which others do not search. (The ring may have to wait for a thief: not
// with a lock held.)
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
  if (!w.ring.push(&f))  // it remains the newest
    move(f);
  w.runtime.inject(moved);
}

void parallel_requeue(parallel_worker& w, fiber& f) noexcept {
  if (f.flags.kind == waiter_kind::migrating_fiber && !w.unwinding)
    parallel_inject(f);
  else
    parallel_push(w, f);
}

bool deliver_shutdown(fiber& f) noexcept {
  if (std::exchange(f.flags.shutdown, shutdown_state::delivered) == shutdown_state::delivered)
    return false;
  f.flags.status = fiber_status::unwinding;
  return true;
}

sennit_decision parallel_dispatch_at_end(parallel_worker& w, bool (*file)(void*, fiber&),
                                         void* argument) noexcept {
  fiber& self = *w.ready.current;
  if (deliver_shutdown(self))
    return {self.context, 0};
  return parallel_dispatch_filing(w, self, [file, argument](fiber& f) { return file(argument, f); });
}

extern "C" {

sennit_decision sennit_dispatch_parallel_main(sennit_context self, void* argument) {
  auto& w = *static_cast<parallel_worker*>(argument);
  w.main_fiber.context = self;
  *static_cast<sennit_context*>(w.stack) = self;
  return parallel_next(w);
}

sennit_decision sennit_dispatch_parallel_yield(sennit_context self, void* argument) {
  auto& w = *static_cast<parallel_worker*>(argument);
  fiber& f = *w.ready.current;
  f.context = self;
  return yield_slow(w, f);
}

// The running fiber blocks without a stack.
sennit_decision sennit_dispatch_parallel_become(sennit_context self, void*) {
  parallel_worker& w = running_parallel();
  fiber& f = *std::exchange(w.ready.current, nullptr);
  thread_dispatch(w, f, self);
  if (w.unwinding && deliver_shutdown(f)) [[unlikely]]
    return enter(w, &f);
  f.flags.status = fiber_status::parked;
  if (file_stackless(f, w.parks_at, nullptr) != nullptr) {
    if (counting)
      w.ring.owned() == 0 && !w.ring.next_slot_taken() ? count_nothing_ready() : count_poll_due();
    return parallel_next_quickly(w);
  }
  f.flags.status = fiber_status::notified;
  return dispatch(w, f);
}

// The running fiber has ended. Once others know that, they may reuse its descriptor and stack.
sennit_decision sennit_dispatch_parallel_finish([[maybe_unused]] sennit_context self, void*) {
  parallel_worker& w = running_parallel();
  fiber& done = *std::exchange(w.ready.current, nullptr);
  done.context = direct_entry ? done.frame->context : self;
  fiber* const newest = direct_entry ? w.ring.newest() : nullptr;
  const bool was_entered = newest != nullptr && is_entering(*newest, done);
  // A join may come much later, and other fibers that begin, or resume without a stack, need one.
  if (done.flags.slow_path && done.ended.load(std::memory_order_relaxed) == ended_not_yet)
    fiber_detach_frame(w, done);
  const std::uintptr_t observer = done.ended.exchange(ended_already, std::memory_order_acq_rel);
  if (observer == ended_unobserved) {
    if (const std::exception_ptr* error = fiber_error(done))
      fiber_terminate(done, *error);
    parallel_recycle(done);
  } else if (observer != ended_not_yet) {
    end_join(*reinterpret_cast<waiter*>(observer & ~ended_multi), reinterpret_cast<std::uintptr_t>(&done));
  }
  fiber* const parent = was_entered ? w.ring.pop_newest() : nullptr;
  return parent != nullptr ? dispatch(w, *parent) : parallel_next(w);
}

// The running fiber has made a child, which runs now. The parent runs next, unless another worker takes it.
sennit_decision sennit_dispatch_parallel_enter_new(sennit_context self, void* child) {
  parallel_worker& w = running_parallel();
  fiber& parent = *std::exchange(w.ready.current, nullptr);
  auto& entered = *static_cast<fiber*>(child);
  parent.context = self;
  if (w.unwinding && deliver_shutdown(parent)) {
    w.ready.current = &parent;
    parallel_push(w, entered);
    return {parent.context, 1};
  }
  if (w.runtime.forces_migration) {
    entered.flags.kind = waiter_kind::migrating_fiber;
    parallel_push_woken(w, entered);
    parallel_inject(parent);
    return parallel_next(w);
  }
  mark_entering(parent, entered);
  fiber* other = nullptr;
  if (!parallel_dispatch(w)) {
    other = parallel_poll_external_events(w);
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

namespace {

std::uintptr_t yield_polling_here(worker& w) {
  w.polling.often();
  static_cast<parallel_worker&>(w).dispatches.restart(1);
  const std::uintptr_t word = suspend(w, sennit_dispatch_parallel_yield, &w);
  finish_switch();
  return word;
}

SENNIT_UNSANITIZED bool parallel_has_others(const worker& w) noexcept {
  const auto& parallel = static_cast<const parallel_worker&>(w);
  return look(w.ready.current) != nullptr &&
         (parallel.ring.owned() != 0 || parallel.ring.next_slot_taken() || !parallel.arrivals.empty() ||
          parallel.runtime.any_injected.load(std::memory_order_relaxed) ||
          parallel.timers.earliest() != never || w.driver->watching());
}

// A look from outside at what other workers have. One that sleeps, or also tries in vain to begin its fibers,
// has none to run.
SENNIT_UNSANITIZED bool parallel_may_free_stack(worker& w) noexcept {
  const parallel_runtime& of = *w.shared;
  if (of.any_injected.load(std::memory_order_relaxed) ||
      of.external_wakers.load(std::memory_order_relaxed) != 0)
    return true;
  for (const parallel_worker* const each : of.workers) {
    if (each->timers.earliest() != never || each->driver->watching())
      return true;
    const bool has_none = each == &w ? each->ring.owned() == 0 && !each->ring.next_slot_taken()
                                     : of.asleep.sleeps(each->index) || look(each->refused.tries) != 0;
    if (!has_none || !each->arrivals.empty())
      return true;
  }
  return false;
}

}  // namespace

constinit const worker_operations parallel_operations{
    .end = sennit_dispatch_parallel_finish,
    .become = sennit_dispatch_parallel_become,
    .resumed = parallel_thread_continue,
    .leave_stack = [](worker&, coroutine_frame& frame,
                      continuation& next) noexcept { return parallel_thread_block(frame, next); },
    .next = [](worker& w) noexcept { return parallel_next(static_cast<parallel_worker&>(w)); },
    .requeue = [](worker& w, fiber& f) noexcept { parallel_requeue(static_cast<parallel_worker&>(w), f); },
    .yield_polling = yield_polling_here,
    .wait_in_slot = wait_in_slot,
    .count_wakers =
        [](worker& w, int change) noexcept {
          w.shared->external_wakers.fetch_add(static_cast<unsigned>(change), std::memory_order_release);
        },
    .may_free_stack = parallel_may_free_stack,
    .seems_to_have_others = parallel_has_others,
    .worker_at = [](worker& w, std::size_t number) noexcept -> worker* {
      return number < w.shared->workers.size() ? w.shared->workers[number] : nullptr;
    },
};

sennit_decision parallel_thread_block(coroutine_frame& frame, continuation& next) noexcept {
  frame.round = parallel_thread_continue;
  for (;;) {
    parallel_worker& w = running_parallel();
    if (w.unwinding || !parallel_may_dispatch(w) || !is_of_usual_size(w, frame)) [[unlikely]] {
      round_ended(frame, next);
      suspend(w, sennit_dispatch_parallel_become, &w, false);
    }
    parallel_dispatch(w);
    fiber& f = *std::exchange(w.ready.current, nullptr);
    void* const from = stack_leave(f, frame, next);
    f.flags.status = fiber_status::parked;
    fiber* entered = &f;
    const bool waits = file_stackless(f, w.parks_at, from) != nullptr;
    if (waits)
      entered = parallel_take_own(w);
    else
      f.flags.status = fiber_status::notified;
    if (entered == nullptr) {
      count_nothing_ready();
      suspend(w, sennit_dispatch_after_handoff, &frame, false);
    }
    w.ready.current = entered;
    if (!may_have(w, *entered, frame)) {
      continuation_access::forget(next);
      return switch_context(w, frame, *entered);
    }
    if (waits)
      count_handoff();
    if (!stack_handoff(frame, next))
      return parallel_finish(frame);
  }
}

}  // namespace sennit::inline v0_1::detail
