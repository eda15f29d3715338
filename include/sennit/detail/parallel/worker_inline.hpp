// A worker of a parallel runtime, and what its fibers do: yield, block, begin, end.
//
// Like a local runtime's worker (worker.hpp), except that other workers steal from it. So its ready fibers
// are in a ring and a next slot of their own (work_ring.hpp). Other workers must not see a fiber before it
// has left its stack. Two rules ensure that:
//
//   A fiber that blocks or ends does so in a scheduler step, on the worker's stack. Only there it is put
//   where its waker, its joiner or a thief finds it. From then on it may run elsewhere, and its stack may be
//   gone.
//
//   A fiber that yields, or calls another one (spawn_now), enters that one directly. Before, it marks itself
//   as leaving, and pushes itself onto the ring or into the next slot (hybrid). No worker steals a fiber that
//   is leaving until the switch is over. The entered fiber clears the mark: finish_switch(). (If it did not,
//   a fiber that is the only one could not be stolen until its worker dispatches again. That is harmless.)
//
// After a switch, everything that was read of a worker before is stale: the fiber may have moved.
//
// Source: Dolan 2013, section 5 (the parallel library).
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/parallel/worker.hpp"
#include "sennit/detail/sched/claim.hpp"
#include "sennit/detail/sched/spawn.hpp"
#include "sennit/detail/sched/successor_prefetch.hpp"

namespace sennit::inline v0_1::detail {

// Returns the calling thread's worker if it runs a fiber of a parallel runtime; otherwise null.
SENNIT_INLINE parallel_worker* this_parallel() noexcept {
  worker* w = this_worker();
  return w != nullptr && !w->is_local() ? static_cast<parallel_worker*>(w) : nullptr;
}

// Like this_parallel(), where there must be one.
SENNIT_INLINE parallel_worker& running_parallel() noexcept {
  worker* const w = this_worker();
  assert(w != nullptr && !w->is_local());
  return static_cast<parallel_worker&>(*w);
}
// For functions that users call: fatal, in every build, if there is none. `what`: the function.
SENNIT_INLINE parallel_worker& running_parallel_for(const char* what) noexcept {
  parallel_worker* const w = this_parallel();
  if (w == nullptr) [[unlikely]]
    no_fiber_here(what);
  return *w;
}

// ---- Out of line.

extern const worker_operations parallel_operations;

// Returns the next fiber to run, when the worker has none.
sennit_decision parallel_next(parallel_worker& w) noexcept;
// A fiber that yields has left its stack: from now on any worker may run it.
void parallel_requeue(parallel_worker& w, fiber& f) noexcept;
// Pushes onto a ring that is full.
[[gnu::cold]] void parallel_overflow(parallel_worker& w, fiber& f) noexcept;
// There is, or will be, work for more workers. Wakes one, if one sleeps and none searches.
[[gnu::cold]] void parallel_wake_one(parallel_runtime& of) noexcept;
// Makes a fiber ready from outside of its runtime's workers, or one whose kind requires a certain worker.
[[gnu::cold]] void parallel_inject(fiber& f) noexcept;
// Makes a fiber ready at a given worker, where others may take it.
[[gnu::cold]] void parallel_send(parallel_worker& to, fiber& f) noexcept;
// Moves the calling fiber to the worker with that bias number, where others may take it. Does nothing if that
// is none of its runtime's, or the fiber is pinned. Throws forced_unwind when the runtime ends.
[[gnu::cold]] void parallel_move_to(std::uint16_t bias_number);
// The running fiber yields without a scheduler step, if it may: it is marked as leaving, and queued. Returns
// the fiber to enter, or itself if there is no other one, or null if a scheduler step is needed.
fiber* parallel_try_yield(parallel_worker& w, fiber& self) noexcept;
// Returns a finished fiber for a new one. `w`: null from outside. If there is none, returns null if the fiber
// may get its stack later, and otherwise one with a stack. Throws as fiber_spawn.
[[gnu::cold]] fiber* parallel_allocate_fiber_slow(parallel_runtime& of, parallel_worker* w, std::size_t size,
                                                  std::byte* memory, std::size_t guard, bool may_begin_later);
// Takes back a finished fiber that no handle refers to.
void parallel_recycle(fiber& f) noexcept;
inline constexpr std::uint32_t idle_limit = 256;  // a worker keeps this many; then half become shared
// A fiber that is about to block learns that its runtime ends. Returns true only the first time.
[[gnu::cold]] bool deliver_shutdown(fiber& f) noexcept;

extern "C" {
sennit_decision sennit_dispatch_parallel_main(sennit_context self, void* argument);
sennit_decision sennit_dispatch_parallel_yield(sennit_context self, void* argument);
sennit_decision sennit_dispatch_parallel_finish(sennit_context self, void* argument);
sennit_decision sennit_dispatch_parallel_become(sennit_context self, void* argument);
sennit_decision sennit_dispatch_parallel_enter_new(sennit_context self, void* child);
}

// ---- Ready fibers.

// Lets other workers take fibers that this one cannot run at once. Also used by the model checker's workers.
template <class Worker>
SENNIT_INLINE void maybe_wake_worker(Worker& w) noexcept {
  const bool several = w.ring.owned() >= 2;
  if (several ? w.runtime.asleep.any() : w.runtime.asleep.seem_any()) [[unlikely]]
    if ((several ? w.stealing.wake_for_several : w.stealing.wake_for_lone).due(w.runtime.searching))
      parallel_wake_one(w.runtime);
}

// Queues a fiber that any worker may run from now on, at the end of the ring.
SENNIT_INLINE void parallel_push(parallel_worker& w, fiber& f) noexcept {
  if (!w.ring.push(&f)) [[unlikely]]
    parallel_overflow(w, f);
  maybe_wake_worker(w);
}

// Queues a fiber that the running one has woken. It runs first, because it is likely to use the data that its
// waker just touched. No worker is woken: others could take the fiber only if this worker did not dispatch
// for long.
SENNIT_INLINE void parallel_push_woken(parallel_worker& w, fiber& f) noexcept {
  if (fiber* displaced = w.ring.put_next_slot(&f)) [[unlikely]]
    parallel_push(w, *displaced);
}

// The status is read at the runtime's end, while other threads may wake the fiber.
SENNIT_INLINE void set_ready(fiber& f, fiber_status why) noexcept {
  std::atomic_ref(f.flags.status).store(why, std::memory_order_relaxed);
}
inline bool parallel_is_parked(fiber& f) noexcept {
  return std::atomic_ref(f.flags.status).load(std::memory_order_relaxed) == fiber_status::parked;
}

// Makes a parked fiber ready. Its word is set. Any thread.
SENNIT_INLINE void parallel_ready(fiber& f, fiber_status why) noexcept {
  set_ready(f, why);
  worker* here = this_worker();
  if (here != nullptr && here->shared == f.home->shared && f.flags.kind == waiter_kind::fiber) [[likely]]
    parallel_push_woken(static_cast<parallel_worker&>(*here), f);
  else
    parallel_inject(f);
}

// Like parallel_ready(), at the end of the queue: events from outside keep their order.
inline void parallel_ready_back(fiber& f, fiber_status why) noexcept {
  set_ready(f, why);
  worker* here = this_worker();
  const bool stays = f.flags.kind == waiter_kind::pinned_fiber && f.home == here;
  if (stays || (here != nullptr && here->shared == f.home->shared && f.flags.kind == waiter_kind::fiber))
    parallel_push(static_cast<parallel_worker&>(*here), f);
  else
    parallel_inject(f);
}

// Keeps a finished fiber for the worker's next one. An idle fiber's id is the number of idle fibers up to it.
SENNIT_INLINE void cache_idle(parallel_worker& w, fiber& f) noexcept {
  f.id = w.idle == nullptr ? 1 : w.idle->id + 1;
  f.next = w.idle;
  w.idle = &f;
}

// Takes back a usual fiber. A worker of its runtime keeps it, up to idle_limit; otherwise, parallel_recycle.
SENNIT_INLINE void recycle_local(fiber& f) noexcept {
  parallel_worker* w = this_parallel();
  if (w == nullptr || f.home->shared != &w->runtime || (w->idle != nullptr && w->idle->id >= idle_limit))
      [[unlikely]]
    parallel_recycle(f);
  else
    cache_idle(*w, f);
}

// ---- Switches.

// Counts a dispatch. Returns false if it is time to poll for external events, which a scheduler step does.
SENNIT_INLINE bool parallel_dispatch(parallel_worker& w) noexcept {
  return !w.dispatches.count();
}

// Like parallel_dispatch, but counts nothing when it returns false.
SENNIT_INLINE bool parallel_dispatch_unless_poll_due(dispatching& w) noexcept {
  if (!w.dispatches.count()) [[likely]]
    return true;
  w.dispatches.take_back();
  return false;
}

// Returns whether the next dispatch needs no poll.
SENNIT_INLINE bool parallel_may_dispatch(const parallel_worker& w) noexcept {
  return !w.dispatches.next_is_last();
}

// The first action of a fiber after another one has entered it.
SENNIT_INLINE parallel_worker& finish_switch() noexcept {
  parallel_worker& here = running_parallel();
  here.ring.clear_leaving();
  return here;
}

// For a conjunction of conditions: a mere hint that each is likely does not suffice for the compiler.
SENNIT_INLINE bool likely_always(bool condition) noexcept {
  return __builtin_expect_with_probability(condition, 1, 1.0) != 0;
}

// Each yielding place has its own copy of the code that goes round the ring. So the processor learns which
// fiber follows which, as it could not with one shared jump.
SENNIT_INLINE void parallel_yield(parallel_worker& w) {
  sennit_should_hold_no_lock("yields", nullptr);
  fiber* const self = w.ready.current;
  stack_should_be_whole(*self);
  count_site();
  // A separate pointer, from which short instructions reach all fields: the code of a hundred yielding places
  // should fit the cache.
  dispatching* here = &w;
  asm("" : "+r"(here));
  fiber* next;
  if (direct_entry && likely_always(here->plain) && likely_always(!here->ring.next_slot_taken()) &&
      likely_always((self->flags.slow_path & has_yield_continuation) == 0) &&
      likely_always(parallel_dispatch_unless_poll_due(*here))) {
    next = here->ring.rotate(self);
  } else {
    next = parallel_try_yield(w, *self);
    if (next == nullptr) {
      const std::uintptr_t word = suspend(w, sennit_dispatch_parallel_yield, &w);
      finish_switch();
      if (word != 0) [[unlikely]]
        finish_interrupted_yield(word);
      return;
    }
  }
  if (next == self)
    return;
  count_block(yield_reason);
  w.ready.current = next;
  switch_context(*self, entering(w, *next));
  finish_switch();
}

// Like parallel_next. The usual case, the fiber in the next slot, is inline.
SENNIT_INLINE sennit_decision parallel_next_quickly(parallel_worker& w) noexcept {
  if (parallel_may_dispatch(w) && (w.next_slot_left != 0 || w.ring.owned() == 0)) [[likely]] {
    if (fiber* const woken = w.ring.take_next_slot()) [[likely]] {
      parallel_dispatch(w);
      if (w.ring.owned() != 0)  // otherwise no fiber waits
        --w.next_slot_left;
      w.ready.current = woken;
      return entering(w, *woken);
    }
  }
  return parallel_next(w);
}

// The scheduler step for an ordinary block, when the fiber need not leave.
template <class File>
SENNIT_INLINE sennit_decision parallel_dispatch_filing(parallel_worker& w, fiber& f, File&& file) {
  w.ready.current = nullptr;
  f.since = w.parks_at;
  const fiber* after_next = nullptr;
  if (many_fibers.load(std::memory_order_relaxed)) [[unlikely]]
    after_next = note_successor(f, w.ring.seems_next());
  const char* const reason = counting ? f.site->reason : nullptr;
  if (file(f)) [[likely]] {
    count_block(reason);
    if (after_next != nullptr) [[unlikely]]
      prefetch_successors(after_next);
    return parallel_next_quickly(w);
  }
  w.ready.current = &f;
  f.flags.status = fiber_status::notified;
  return {f.context, f.word};
}
// Replaces that step while the runtime ends: the fiber may have to unwind instead of waiting.
[[gnu::cold]] sennit_decision parallel_dispatch_at_end(parallel_worker& w,
                                                       bool (*file)(void* argument, fiber& f),
                                                       void* argument) noexcept;
template <class File>
sennit_decision parallel_dispatch_block(sennit_context self, void* argument) {
  parallel_worker& w = running_parallel();
  fiber& f = *w.ready.current;
  f.context = self;
  if (w.unwinding) [[unlikely]]
    return parallel_dispatch_at_end(
        w, [](void* at, fiber& blocks) { return (*static_cast<File*>(at))(blocks); }, argument);
  return parallel_dispatch_filing(w, f, *static_cast<File*>(argument));
}

// The first steps of every wait of a fiber.
SENNIT_INLINE void parallel_block_begins(fiber& self, wait_site& site) noexcept {
  sennit_should_hold_no_lock("waits", site.reason);
  stack_should_be_whole(self);
  self.site = &site;
  self.flags.status = fiber_status::parked;
  count_site();
}
// What a fiber does first after its wait. Returns the waker's word.
SENNIT_INLINE std::uintptr_t parallel_block_ended(int kept, std::uintptr_t word) {
  parallel_worker& here = finish_switch();
  here.ready.current->word = 0;  // it was arbitrary; a yield returns it, or a fiber is entered with it
  *here.error_number = kept;
  if (here.unwinding) [[unlikely]]
    return throw_if_shutting_down(here, word);
  return word;
}

template <class File>
SENNIT_INLINE std::uintptr_t parallel_suspend(parallel_worker& w, File& file) {
  return suspend(w, parallel_dispatch_block<File>, const_cast<std::remove_const_t<File>*>(&file));
}

// Blocks the running fiber. `file(fiber)` is called after it has left its stack, and puts it where its waker
// finds it. If it returns true, it must not touch the fiber or its stack any more. If it returns false, the
// fiber need not wait. Returns the waker's word. Throws forced_unwind when the runtime ends. Keeps errno.
template <class File>
SENNIT_INLINE std::uintptr_t parallel_block(parallel_worker& w, wait_site& site, File file) {
  parallel_block_begins(*w.ready.current, site);
  const int kept = *w.error_number;
  return parallel_block_ended(kept, parallel_suspend(w, file));
}

// For a fiber that waits for the end of `child`, after parallel_block_begins(): if the child is one of the
// newest that are ready on this worker, it runs next, past the others. So a tree of fibers that are joined is
// traversed in depth, and few of them have begun at a time. The child is then in no queue, so that no other
// thread can end the wait before the caller has left its stack: it needs no scheduler step. Returns where to
// enter the child, which is current, or null. When a poll is due, returns null, and the child is in the next
// slot, whose budget lets the others run now and then.
sennit_decision parallel_prepare_join(parallel_worker& w, fiber& child) noexcept;
// For other joins: the child goes to the next slot.
void parallel_bring_forward(parallel_worker& w, fiber& child) noexcept;

// ---- Begin and end.

// The values of fiber::ended that are no waiter.
inline constexpr std::uintptr_t ended_not_yet = 0;
inline constexpr std::uintptr_t ended_already = 1;
inline constexpr std::uintptr_t ended_unobserved = 2;  // not yet, and no joiner will come
// Set if the waiter is a multi_wait_node. It may give up, and be gone, until it is taken out of the word.
inline constexpr std::uintptr_t ended_multi = 4;

// A fiber's word names the child that it has entered by spawn_now, until it resumes. Another worker may own
// the fiber by now, and write there: taking the fiber off the ring confirms what was read. (ThreadSanitizer
// would report this read, but has no direct entry.) The lowest bit distinguishes it from older contents: the
// place of an offer, or a joined fiber.
SENNIT_INLINE void mark_entering(fiber& parent, const fiber& child) noexcept {
  std::atomic_ref(parent.word).store(reinterpret_cast<std::uintptr_t>(&child) + 1, std::memory_order_relaxed);
}
SENNIT_INLINE void clear_entering(fiber& parent) noexcept {
  std::atomic_ref(parent.word).store(0, std::memory_order_relaxed);
}
SENNIT_INLINE bool is_entering(fiber& parent) noexcept {
  return (std::atomic_ref(parent.word).load(std::memory_order_relaxed) & 1) != 0;
}
SENNIT_INLINE bool is_entering(fiber& parent, const fiber& child) noexcept {
  return std::atomic_ref(parent.word).load(std::memory_order_relaxed) ==
         reinterpret_cast<std::uintptr_t>(&child) + 1;
}

// Ends the running fiber, on its own stack. Returns what to enter next.
sennit_decision parallel_finish(coroutine_frame& frame) noexcept;

// As thread_block.
sennit_decision parallel_thread_block(coroutine_frame& frame, continuation& next) noexcept;

template <class Body>
sennit_decision parallel_round(void* top) noexcept {
  auto& frame = *static_cast<coroutine_frame*>(top);
  parallel_worker& w = finish_switch();
  if constexpr (!direct_entry && !std::is_same_v<Body, resumed>)
    w.ready.current->word = 0;  // set by fiber_loop
  what_is_left<Body> next = run_body<Body>(frame);
  if constexpr (!direct_entry)
    return round_ended(frame, next);
  if constexpr (may_become<Body>)
    if (next)
      return sennit_round_leave(parallel_thread_block(frame, next));
  return parallel_finish(frame);
}
inline constexpr sennit_round parallel_thread_continue = parallel_round<resumed>;

// Whether copying such a function may block, after which the fiber may be on another worker.
template <class Function>
inline constexpr bool may_block_to_copy = !std::is_trivially_copyable_v<std::decay_t<Function>>;

// A new fiber can be joined, and unparked.
SENNIT_INLINE void parallel_join_begins(fiber& f, bool owned) noexcept {
  ::new (&f.permit) wait_claim;
  f.ended.store(owned ? ended_not_yet : ended_unobserved, std::memory_order_relaxed);
}

// Makes a new fiber with a function, not begun yet. `w`: null if the caller is no worker of the runtime.
template <class Function>
SENNIT_INLINE fiber& parallel_make(parallel_runtime& of, parallel_worker* w, Function&& function,
                                   stack_request stack, bool owned) {
  using body = std::decay_t<Function>;
  must_be_callable<body>();
  fiber* f = w != nullptr ? w->idle : nullptr;
  if (f == nullptr || !stack.is_usual()) [[unlikely]] {
    f = parallel_allocate_fiber_slow(of, w, stack.size, stack.memory, stack.guard,
                                     begins_later<body> && !stack.at_once);
    if constexpr (begins_later<body>)
      if (f == nullptr) {
        fiber& later = begin_later<body, parallel_round<body>>(w != nullptr ? *w : *of.workers.front(),
                                                               std::forward<Function>(function), owned);
        parallel_join_begins(later, owned);
        return later;
      }
  } else {
    w->idle = f->next;
  }
  coroutine_frame& frame = *f->frame;
  if constexpr (noexcept(body(std::forward<Function>(function))) && fits_payload<body>) {
    payload_store<body>(frame, std::forward<Function>(function));
  } else {
    try {
      payload_store<body>(frame, std::forward<Function>(function));
    } catch (...) {
      parallel_recycle(*f);
      throw;
    }
  }
  fiber_reset(*f, frame, parallel_round<body>, owned);
  if (!stack.is_usual()) [[unlikely]]
    f->flags.slow_path = frame.record.memory.shape != of.usual_stack;
  parallel_join_begins(*f, owned);
  return *f;
}

// Runs a new fiber at once. The caller resumes when the new fiber ends or blocks, or earlier on another
// worker.
SENNIT_INLINE void parallel_enter_new(parallel_worker& w, fiber& child) {
  sennit_should_hold_no_lock("calls spawn_now", nullptr);
  fiber* const self = w.ready.current;
  if (direct_entry && parallel_may_dispatch(w)) [[likely]] {
    w.ring.mark_leaving(self);
    mark_entering(*self, child);
    if (w.ring.push(self)) [[likely]] {
      parallel_dispatch(w);
      w.ready.current = &child;
      maybe_wake_worker(w);
      switch_context(*self, entering(w, child));
      clear_entering(*finish_switch().ready.current);
      return;
    }
    clear_entering(*self);
    w.ring.clear_leaving();
  }
  if (suspend(w, sennit_dispatch_parallel_enter_new, &child) == 1) [[unlikely]]  // the runtime ends
    throw_forced_unwind();
  clear_entering(*finish_switch().ready.current);
}

}  // namespace sennit::inline v0_1::detail
