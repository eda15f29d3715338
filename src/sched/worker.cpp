// The choice of the next fiber: how a fiber leaves, the scheduler steps, and how a worker waits when no fiber
// can run.
#include "sennit/detail/sched/worker.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "sennit/detail/sched/spawn.hpp"

namespace sennit::inline v0_1::detail {

namespace {

bool has_posts(const worker& w) noexcept {
  return !w.inbox.empty() || w.delayed.first != nullptr;
}

// A post that finds no memory or no room for its fiber is delayed, and so are later ones that make fibers.
// Other posts run, because they may end fibers.
void run_posts(worker& w) noexcept {
  while (posted* const post = w.delayed.first) {
    posted* const next = post->next;
    if (!post->run())
      break;
    w.delayed.first = next;
  }
  for (posted* next = w.inbox.take(); next != nullptr;) {
    posted* const post = std::exchange(next, next->next);
    if ((post->makes_fiber && w.delayed.first != nullptr) || !post->run()) [[unlikely]]
      w.delayed.add(post);
  }
}

void wake_due(worker& w) noexcept {
  if (w.deadlines.empty())
    return;
  const time_point now = clock::now();
  while (timer_node* due = w.deadlines.take_due(now)) {
    fiber& f = static_cast<local_timer*>(due)->who;
    if (!f.is_parked())
      continue;  // woken, but has not run yet
    if (!recognize(f))
      continue;
    stop_waiting(f);
    unpark_back(f, fiber_status::timed_out);
  }
}

void reset_poll_countdown(worker& w, poll_result what) noexcept {
  w.until_poll = until_next_poll(w, what);
}

// Counts a dispatch in a scheduler step, which polls itself when none is left.
void count_dispatch(worker& w) noexcept {
  if (w.until_poll > 0)
    --w.until_poll;
}

// Polls: when due, or after a rest. Returns the main fiber if it should run, otherwise null.
[[gnu::noinline, gnu::cold]] fiber* poll_external_events(worker& w, bool rested = false) noexcept {
  bool found = has_posts(w);
  if (found)
    run_posts(w);
  wake_due(w);
  retry_refused(w);
  if (w.driver->watching()) {
    const int kept = errno;
    found |= w.driver->wait(time_point::min());
    errno = kept;
  }
  reset_poll_countdown(w, rested ? poll_result::rested : found ? poll_result::found : poll_result::nothing);
  return w.main_wanted ? &w.main_fiber : nullptr;
}

}  // namespace

void no_fiber_here(const char* what) noexcept {
  const worker* const w = this_worker();
  std::fprintf(stderr, "sennit: %s: %s\n", what,
               w != nullptr && w->ready.running()
                   ? "this is for fibers of a sennit::runtime; those of a local one take what is called the "
                     "same in namespace sennit::local"
                   : "there is no fiber here; call it in a function that runtime.run() or spawn() was given");
  std::abort();
}

worker& running_worker_for(const char* what) noexcept {
  worker* w = this_worker();
  if (w == nullptr || !w->ready.running()) [[unlikely]]
    no_fiber_here(what);
  return *w;
}

void unpark_from_outside(fiber& f) {
  mark_ready(f, fiber_status::notified);
  f.home->ready.add_woken(&f);
}

unsigned until_next_poll(worker& w, poll_result what) noexcept {
  const std::uint64_t last = std::exchange(w.now, monotonic_now());
  w.parks_at = parked_at(w.now);
  const unsigned dispatches = w.polling.next(w.now - last, what);
  if (!w.unwinding) [[likely]]
    return dispatches;
  report_late_end(w);
  return 1;
}

bool no_external_events(worker& w) noexcept {
  const bool quiet = !has_posts(w) && w.deadlines.empty() && !w.main_wanted && !w.unwinding &&
                     !w.driver->watching() && w.refused.all.first == nullptr;
  if (quiet)
    reset_poll_countdown(w, poll_result::nothing);
  return quiet;
}

namespace {

// A poll is due, or scheduler steps make every switch.
[[gnu::cold, gnu::noinline]] sennit_decision prepare_block_polling(worker& w, fiber& self,
                                                                   fiber_status as) noexcept {
  if (!w.is_local()) [[unlikely]]
    w.ready.pop_current(self);  // ends the program
  const bool may_enter = w.until_poll != 0 || no_external_events(w);
  return finish_block(w, self, as, may_enter && direct_entry ? w.ready.pop_current(self) : nullptr);
}

// Separate, so that prepare_block need not save a register: it ends with a jump there.
[[gnu::noinline]] sennit_decision prepare_block_slow(worker& w, fiber& self, fiber_status as) noexcept {
  return finish_block(w, self, as, w.ready.pop_current_fallback(self));
}

}  // namespace

sennit_decision prepare_block(worker& w, fiber_status as, wait_reason why) noexcept {
  fiber& self = *w.ready.current;
  set_wait_reason(self, why);
  if (--w.until_poll == 0 || !direct_entry) [[unlikely]]
    return prepare_block_polling(w, self, as);
  fiber* const next = w.ready.try_pop_current_fast(self);
  if (next == nullptr) [[unlikely]]
    return prepare_block_slow(w, self, as);
  prefetch_successors(self, *next);
  return finish_block(w, self, as, next);
}

void enter_new_polling(worker& w, fiber& child) {
  fiber& self = *w.ready.current;
  if (direct_entry && w.is_local() && w.ready.may_pass_once_more() && no_external_events(w)) {
    self.word = entering_word(child);
    w.ready.enter_before(self, child);
    switch_context(self, entering(w, child));
    self.word = 0;
    return;
  }
  child.previous = &child;  // take_new() does not know the one before
  w.ready.add_woken(&child);
  yield_polling();
}

std::uintptr_t park_joining_slow(worker& w, fiber& child) noexcept {
  constexpr fiber_status as = fiber_status::joining;
  fiber& self = *w.ready.current;
  if (w.until_poll == 0)
    w.ready.bring_forward(self, child);
  const sennit_decision to =
      w.until_poll == 0 ? prepare_block_polling(w, self, as) : prepare_block_slow(w, self, as);
  return to.target != nullptr ? switch_context(self, to) : suspend(w, sennit_dispatch_park, &w);
}

sennit_decision prepare_block_waking(worker& w, fiber_status as, wait_reason why, fiber& woken) noexcept {
  fiber& self = *w.ready.current;
  set_wait_reason(self, why);
  woken.word = 0;
  mark_ready(woken, fiber_status::notified);
  if (may_enter_directly(w)) [[likely]]
    return finish_block(w, self, as, w.ready.pop_current_to(self, woken));
  w.ready.add_woken(&woken);
  return finish_block(w, self, as, nullptr);
}

namespace {

// For run_once(): the fibers that are ready now may run, and those that join one of them. Then the main fiber
// continues.
void set_run_once_budget(worker& w) noexcept {
  w.main_wanted = true;
  w.polling.often();  // its polls are the main fiber's
  w.until_poll = static_cast<unsigned>(w.ready.size());
}

time_point idle_until(const worker& w, bool once) noexcept {
  const time_point due = w.deadlines.earliest();
  if (w.unwinding)
    return due == never && w.pending_offloads == 0 ? time_point::min() : std::min(due, w.end_is_late_at);
  const time_point first = w.refused.all.first != nullptr ? std::min(due, w.refused.next_try) : due;
  return once ? std::min(first, w.main_deadline) : first;
}

// Marks a wait that no event is certain to end. The watchdog distinguishes such waits by the count.
class idle_marker {
public:
  idle_marker(worker& w, bool once) noexcept : word_(w.rest), since_(word_.load(std::memory_order_relaxed)) {
    rests_ = !once && !w.unwinding && w.deadlines.empty() && w.pending_offloads == 0 &&
             !w.driver->watching() && w.delayed.first == nullptr && w.refused.all.first == nullptr;
    word_.store(since_ + rests_, std::memory_order_relaxed);
  }
  ~idle_marker() { word_.store(since_, std::memory_order_relaxed); }
  idle_marker(const idle_marker&) = delete;
  idle_marker& operator=(const idle_marker&) = delete;

private:
  std::atomic<unsigned>& word_;
  const unsigned since_;
  bool rests_;
};

// No fiber can run: waits until one can. Returns the main fiber if it need not wait, or will not wait longer.
// Does not poll the driver before it waits: that would be a system call for nothing. But a fiber whose
// deadlines have always passed must not prevent all polls.
[[gnu::noinline, gnu::cold]] fiber* idle(worker& w) noexcept {
  const bool once = w.main_waits_for == nullptr;
  bool trimmed = false;
  for (bool waited = false;; waited = true) {
    if (has_posts(w))
      run_posts(w);
    wake_due(w);
    retry_refused(w);
    if (w.main_wanted)
      return &w.main_fiber;
    if (!w.ready.empty()) {
      if (waited)
        reset_poll_countdown(w, poll_result::rested);
      else if (w.until_poll > 1)
        --w.until_poll;
      else if (poll_external_events(w) != nullptr)
        return &w.main_fiber;
      if (once && !w.unwinding)
        set_run_once_budget(w);
      w.rest.store(w.rest.load(std::memory_order_relaxed) + 2, std::memory_order_relaxed);
      return w.ready.next();
    }
    if (waited && once &&
        (w.unwinding ? idle_until(w, once) == time_point::min() : clock::now() >= w.main_deadline))
      return &w.main_fiber;
    w.inbox.mark_asleep();
    if (w.inbox.still_empty()) {
      const idle_marker note(w, once);
      [[maybe_unused]] const counted_sleep sleep;
      w.slice.rest();
      w.driver->wait(trim_idle_stacks(w, std::min(idle_until(w, once), next_try_of_posts(w)), trimmed));
      w.slice.go_on();
    }
    w.inbox.mark_awake();
    if (w.unwinding)
      report_late_end(w);
  }
}

[[gnu::always_inline]] inline fiber* next_fiber(worker& w) noexcept {
  if (w.until_poll == 0) [[unlikely]]
    if (fiber* main_fiber = poll_external_events(w))
      return main_fiber;
  if (fiber* f = w.ready.next()) [[likely]]
    return f;
  return idle(w);
}

// Returns whether a fiber that parks or yields must unwind now, because the runtime ends. Fibers spawned
// since then are treated like those that were ready.
bool deliver_shutdown(const worker& w, fiber& f) noexcept {
  if (!w.unwinding) [[likely]]
    return false;
  return std::exchange(f.flags.shutdown, shutdown_state::delivered) != shutdown_state::delivered;
}

}  // namespace

extern "C" {

sennit_decision sennit_dispatch_main(sennit_context self, void* argument) {
  worker& w = *static_cast<worker*>(argument);
  w.main_fiber.context = self;
  *static_cast<sennit_context*>(w.stack) = self;
  poll_external_events(w, true);
  if (w.main_waits_for == nullptr && !w.unwinding && !w.ready.empty())
    set_run_once_budget(w);
  return entering(w, *next_fiber(w));
}

sennit_decision sennit_dispatch_yield(sennit_context self, void* argument) {
  worker& w = *static_cast<worker*>(argument);
  fiber* running = w.ready.current;
  running->context = self;
  running->word = deliver_shutdown(w, *running);
  if (running->word == 0 && (running->flags.slow_path & has_yield_continuation) != 0) [[unlikely]]
    return {self, resume_via_continuation};
  if (w.until_poll == 0) [[unlikely]] {
    if (fiber* main_fiber = poll_external_events(w)) {
      count_block(yield_reason);
      w.ready.put_back();
      return entering(w, *main_fiber);
    }
  }
  fiber& next = *w.ready.rotate();
  if (&next != running)
    count_block(yield_reason);
  return entering(w, next);
}

sennit_decision sennit_dispatch_park(sennit_context self, void* argument) {
  worker& w = *static_cast<worker*>(argument);
  fiber* running = w.ready.current;
  running->context = self;
  w.ready.remove_running();
  running->since = w.parks_at;
  if (deliver_shutdown(w, *running)) [[unlikely]] {
    stop_waiting(*running);
    unpark_back(*running, fiber_status::unwinding);
  }
  return entering(w, *next_fiber(w));
}

// The running fiber blocks without a stack. It has left its stack at `self`. Its continuation is the payload.
sennit_decision sennit_dispatch_become(sennit_context self, void* argument) {
  worker& w = *static_cast<worker*>(argument);
  fiber& f = *w.ready.current;
  thread_dispatch(w, f, self);
  w.ready.remove_running();
  count_dispatch(w);
  if (deliver_shutdown(w, f)) [[unlikely]] {
    f.flags.status = fiber_status::unwinding;
    w.ready.add(&f);
  } else if (fiber* const next = file_stackless(f, w.parks_at, nullptr); next == nullptr) {
    f.flags.status = fiber_status::notified;
    w.ready.add_woken(&f);
  } else {
    if (next != &f)
      unpark(*next);
    if (counting)
      w.ready.empty() ? count_nothing_ready() : count_poll_due();
  }
  return entering(w, *next_fiber(w));
}

// A stack was left that no fiber has. No fiber runs.
sennit_decision sennit_dispatch_after_handoff(sennit_context, void* left) {
  worker& w = *this_worker();
  count_stacks(-1);
  cache_stack(w, *static_cast<coroutine_frame*>(left));
  return w.operations.next(w);
}

// Like the function above, if a fiber is current.
sennit_decision sennit_dispatch_for_current(sennit_context, void* left) {
  worker& w = *this_worker();
  count_stacks(-1);
  cache_stack(w, *static_cast<coroutine_frame*>(left));
  return entering(w, *w.ready.current);
}

// The running fiber has ended and been filed, except for the steps that must wait until its stack is left.
// With direct entry, it is not resumed here: its suspended context is dropped.
sennit_decision sennit_dispatch_finish([[maybe_unused]] sennit_context self, void* argument) {
  worker& w = *static_cast<worker*>(argument);
  fiber& done = *w.ready.current;
  done.context = direct_entry ? done.frame->context : self;
  w.ready.remove_running();
  count_dispatch(w);
  if (done.flags.owned && done.joiner == nullptr)
    fiber_detach_frame(w, done);
  if (done.joiner != nullptr)
    unpark(*done.joiner, reinterpret_cast<std::uintptr_t>(&done));
  if (!done.flags.owned)
    recycle_fiber(w, done);
  if (&done == w.main_waits_for) [[unlikely]] {
    w.main_waits_for = nullptr;
    return entering(w, w.main_fiber);
  }
  return entering(w, *next_fiber(w));
}

}  // extern "C"

#if defined(SENNIT_SANITIZED)

namespace {
struct decision_request {
  sennit_scheduler_step step;
  void* argument;
};
}  // namespace

[[gnu::noinline]] SENNIT_UNSANITIZED std::uintptr_t suspend_to_main(worker& w, sennit_scheduler_step step,
                                                                    void* argument, bool keep) noexcept {
  decision_request wanted{step, argument};
  w.ready.current->frame->active_identity = current_identity();  // a coroutine's, if the fiber runs one
  const sennit_transfer transfer =
      swap(w.main_context, reinterpret_cast<std::uintptr_t>(&wanted), w.main_identity, keep);
  this_worker()->main_context = transfer.from;
  return transfer.value;
}

SENNIT_UNSANITIZED static coroutine_frame& entered_stack(worker& w) noexcept {
  coroutine_frame* const attached = std::exchange(w.attached, nullptr);
  return attached != nullptr ? *attached : *w.ready.current->frame;
}

// Runs fibers until a scheduler step names the main fiber.
SENNIT_UNSANITIZED void run_fibers(worker& w, sennit_scheduler_step step) noexcept {
  sennit_context marker = reinterpret_cast<sennit_context>(&w.main_fiber);
  w.main_identity = current_identity();
  sennit_decision decision = step(marker, &w);
  while (decision.target != marker) {
    const sennit_transfer transfer = swap(decision.target, decision.value, entered_stack(w).active_identity);
    const auto* wanted = reinterpret_cast<const decision_request*>(transfer.value);
    decision = wanted->step(transfer.from, wanted->argument);
  }
}

#else

void run_fibers(worker& w, sennit_scheduler_step step) noexcept {
  sennit_end_backtraces(w.stack);  // until the scheduler step has stored our context there
  suspend(w, step, &w);
}

#endif

// If the parent of the ending fiber has entered it by spawn_now, and follows it, the parent continues, as
// after a call. Otherwise returns null.
SENNIT_INLINE static fiber* return_to_parent(worker& w, fiber& self) noexcept {
  fiber& parent = *self.next;
  if (parent.word != entering_word(self) || !self.flags.owned || w.unwinding)
    return nullptr;
  w.ready.leave(self);
  return &parent;
}

// No fiber joins the ending one yet. Its stack may be reused, but not before it is left.
[[gnu::noinline]] static sennit_decision finish_unjoined(worker& w, fiber& self) noexcept {
  if (const fiber* const parent = return_to_parent(w, self))
    return sennit_round_leave({parent->context, 0});
  // The main fiber does not wait for it, either. (The stack of an unusual fiber may be freed at once.)
  if (!self.flags.owned && !self.flags.slow_path && may_enter_directly(w)) {
    if (fiber* next = w.ready.pop_current(self)) {
      const sennit_decision decision = entering(w, *next);  // before our stack can be taken for that fiber
      recycle_fiber(w, self);
      return sennit_round_leave(decision);
    }
  }
  return fiber_finish_slow(w);
}

// A joiner takes the place of the ending fiber, and gives it back. This is not counted as a dispatch: the
// joiner left by one.
SENNIT_INLINE static sennit_decision enter_joiner(worker& w, fiber& self, fiber* joiner) noexcept {
  w.ready.replace(self, *joiner);
  store_in_order(joiner->flags.status, fiber_status::notified);
  const auto word = reinterpret_cast<std::uintptr_t>(&self);
  if (!joiner->flags.stackless) [[likely]]
    return sennit_round_leave({joiner->context, word});
  joiner->word = word;
  return sennit_round_leave(stack_for(w, *joiner));
}

// The next slot is taken, or the policy is not fifo.
[[gnu::noinline]] static sennit_decision finish_not_plain(worker& w, fiber& self) noexcept {
  if (fiber* const joiner = self.joiner) {
    if (w.ready.in_next_slot() == nullptr && !w.unwinding)
      return enter_joiner(w, self, joiner);
  } else if (const fiber* const parent = return_to_parent(w, self)) {
    return sennit_round_leave({parent->context, 0});
  }
  return fiber_finish_slow(w);
}

// Tail-calls all other functions by a jump, so that no register has to be saved.
sennit_decision fiber_finish(worker& w, coroutine_frame& frame) noexcept {
  fiber& self = *w.ready.current;
  self.flags.status = fiber_status::finished;
  self.context = frame.context;
  count_stacks(-1);
  if (!w.ready.plain()) [[unlikely]]
    return finish_not_plain(w, self);
  fiber* const joiner = self.joiner;
  if (joiner == nullptr) [[unlikely]]
    return finish_unjoined(w, self);
  return enter_joiner(w, self, joiner);
}

[[gnu::noinline]] sennit_decision fiber_finish_slow(worker& w) noexcept {
  suspend(w, w.operations.end, &w, false);
  __builtin_unreachable();
}

bool file_new_stackless(fiber& f, std::uint64_t parked) noexcept {
  f.since = parked;
  fiber* const next = continuation_of(f).file(nullptr, f);
  if (next != nullptr && next != &f)
    unpark(*next);
  return next != nullptr;
}

sennit_decision thread_block(worker& w, coroutine_frame& frame, continuation& next) noexcept {
  frame.round = thread_continue;
  const bool shares = is_of_usual_size(w, frame);
  // (A poll that had nothing to look at may be due again at once. --until_poll must not pass 0 elsewhere.)
  while (shares && (w.until_poll > 1 || (no_external_events(w) && w.until_poll > 1))) {
    fiber& f = *w.ready.current;
    void* const from = stack_leave(f, frame, next);
    w.ready.remove_running();
    --w.until_poll;
    fiber* const after = file_stackless(f, w.parks_at, from);
    fiber* entered;
    if (after == &f) {
      entered = w.ready.next();
    } else if (after != nullptr) [[likely]] {
      mark_ready(*after, fiber_status::notified);
      entered = w.ready.next_after_waking(*after);
    } else {
      f.flags.status = fiber_status::notified;
      w.ready.add_woken(&f);
      entered = w.ready.next();
    }
    if (entered == nullptr) {
      count_nothing_ready();
      suspend(w, sennit_dispatch_after_handoff, &frame, false);
    }
    if (!may_have(w, *entered, frame)) [[unlikely]] {
      continuation_access::forget(next);
      return switch_context(w, frame, *entered);
    }
    if (after != nullptr)
      count_handoff();
    const handed_off of{w, *entered};
    if (!stack_handoff(frame, next, &of))
      return fiber_finish(w, frame);
  }
  round_ended(frame, next);
  suspend(w, sennit_dispatch_become, &w, false);
  __builtin_unreachable();
}

void throw_if_shutdown_pending() {
  const worker* const w = this_worker();
  if (w == nullptr || !w->unwinding || !w->ready.running() ||
      w->ready.current->flags.shutdown != shutdown_state::pending)
    return;
  w->ready.current->flags.shutdown = shutdown_state::delivered;
  throw_forced_unwind();
}

constinit shutdown_sentinel_fiber shutdown_sentinel;

void throw_if_shutting_down(const fiber& done) {
  if (&done == &shutdown_sentinel)
    throw_forced_unwind();
}

std::uintptr_t throw_if_shutting_down(const worker& w, std::uintptr_t word) {
  if (w.ready.current->flags.status == fiber_status::unwinding)
    throw_forced_unwind();
  return word;
}

void yield_polling() {
  worker& w = running_worker();
  sennit_should_hold_no_lock("yields", nullptr);
  stack_should_be_whole(*w.ready.current);
  count_site();
  if (const std::uintptr_t word = w.operations.yield_polling(w)) [[unlikely]]
    finish_interrupted_yield(word);
}

bool park_until(worker& w, fiber_status as, wait_reason why, time_point deadline) {
  if (deadline == never) {
    park(w, as, why);
  } else {
    const local_timer timer(w.deadlines, *w.ready.current, deadline);
    park(w, as, why);
  }
  return this_worker()->ready.current->flags.status == fiber_status::notified;
}

namespace {

// Leaves its slot when the wait ends, however it ends.
class in_slot {
public:
  in_slot(std::atomic<std::uintptr_t>& slot, std::uintptr_t left, const fiber& self) noexcept
      : slot_(slot), left_(left), me_(reinterpret_cast<std::uintptr_t>(&self) + local_waiter) {
    slot_.store(me_, std::memory_order_relaxed);
  }
  ~in_slot() {
    if (slot_.load(std::memory_order_relaxed) == me_)
      slot_.store(left_, std::memory_order_relaxed);
  }
  in_slot(const in_slot&) = delete;
  in_slot& operator=(const in_slot&) = delete;

private:
  std::atomic<std::uintptr_t>& slot_;
  const std::uintptr_t left_;
  const std::uintptr_t me_;
};

// The waker is on the same thread: the slot is as expected.
bool local_wait_in_slot(std::atomic<std::uintptr_t>& slot, std::uintptr_t, std::uintptr_t left,
                        const wait_reason& why, time_point deadline) {
  worker& w = *this_worker();
  const in_slot here(slot, left, *w.ready.current);
  return park_until(w, fiber_status::parked, why, deadline);
}

SENNIT_UNSANITIZED bool local_has_others(const worker& w) noexcept {
  return w.ready.seems_to_have_others() ||
         (look(w.ready.current) != nullptr &&
          (!w.inbox.empty() || !w.deadlines.seems_empty() || w.driver->watching()));
}

}  // namespace

constinit const worker_operations local_operations{
    .end = sennit_dispatch_finish,
    .become = sennit_dispatch_become,
    .resumed = thread_continue,
    .leave_stack = thread_block,
    .next = [](worker& w) noexcept { return entering(w, *next_fiber(w)); },
    .requeue = [](worker& w, fiber& f) noexcept { w.ready.add_last(&f); },
    .yield_polling =
        [](worker& w) {
          w.polling.often();
          w.until_poll = 0;
          return suspend(w, sennit_dispatch_yield, &w);
        },
    .wait_in_slot = local_wait_in_slot,
    .count_wakers = [](worker& w,
                       int change) noexcept { w.pending_offloads += static_cast<std::size_t>(change); },
    .may_free_stack =
        [](worker& w) noexcept {
          return w.main_waits_for == nullptr || !w.ready.empty() || !w.deadlines.empty() || has_posts(w) ||
                 w.pending_offloads != 0 || w.driver->watching();
        },
    .seems_to_have_others = local_has_others,
    .worker_at = [](worker& w, std::size_t number) noexcept { return number == 0 ? &w : nullptr; },
};

}  // namespace sennit::inline v0_1::detail
