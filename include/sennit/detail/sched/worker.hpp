// A worker runs fibers, one after another, on the thread that entered it. This thread counts as a fiber, too:
// the main fiber.
//
// A fiber that yields, blocks or ends enters its successor directly, without a trip through a scheduler's
// context. To yield, inline code takes the successor from the queue and switches, without a call and a
// return. To block, it calls a function that takes the successor and returns before the switch. All this may
// happen on the running fiber's own stack, because only this thread runs the worker's fibers. No fiber can
// resume before its switch is over. (A worker from which others steal must publish a fiber only after it has
// left its stack.)
//
// If there is no successor, or it is time to poll for external events, the fiber leaves by suspend(). Its
// context is saved, and a scheduler step runs on the worker's own stack, where it may wait. It ends with a
// jump into the successor. Sanitizers must see every switch: with them, scheduler steps run in the main
// fiber's context, and every switch goes through one.
//
// Source: Dolan 2013, section 5: "the blocking fiber selects the next fiber to run via a simple subroutine
// call, and then context switches directly into it".
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "sennit/detail/arch/context.h"
#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/owner.hpp"
#include "sennit/detail/arch/thread.h"
#include "sennit/detail/sched/adaptive_poll_interval.hpp"
#include "sennit/detail/sched/block_pool.hpp"
#include "sennit/detail/sched/continuation.hpp"
#include "sennit/detail/sched/driver.hpp"
#include "sennit/detail/sched/fiber.hpp"
#include "sennit/detail/sched/idle_stacks.hpp"
#include "sennit/detail/sched/inbox.hpp"
#include "sennit/detail/sched/refused_fibers.hpp"
#include "sennit/detail/sched/run_queue.hpp"
#include "sennit/detail/sched/successor_prefetch.hpp"
#include "sennit/detail/sched/time_slice.hpp"
#include "sennit/detail/stack/sanitizer.hpp"
#include "sennit/detail/stack/stack.hpp"
#include "sennit/detail/system/process.hpp"
#include "sennit/detail/timer/timer_wheel.hpp"

namespace sennit::inline v0_1::detail {

struct parallel_runtime;
struct dispatching;

// Workers that exist at a time can have so many bias numbers (sync/biased_waiters.hpp), from 1.
inline constexpr std::uint16_t most_bias_numbers = 0x4000;

// What a worker does in another way if others steal from it. The table is set once, when the worker is made:
// the room parallel has another one.
struct worker_operations {
  sennit_scheduler_step end;     // for a fiber that ends
  sennit_scheduler_step become;  // for a fiber that blocks without a stack
  sennit_round resumed;          // the round of a fiber that continues on a stack that it did not leave
  // For a fiber without frames: it blocks without a stack. Returns what to enter on `frame`.
  sennit_decision (*leave_stack)(sennit_worker& w, coroutine_frame& frame, continuation& next) noexcept;
  // Returns what to enter next. No fiber runs.
  sennit_decision (*next)(sennit_worker& w) noexcept;
  // Queues a ready fiber without frames, behind the others.
  void (*requeue)(sennit_worker& w, fiber& f) noexcept;
  // The running fiber yields, and the worker polls first. Returns the word of the resume.
  std::uintptr_t (*yield_polling)(sennit_worker& w);
  // Blocks the running fiber, as wait_in_slot() does (hooks.hpp).
  bool (*wait_in_slot)(std::atomic<std::uintptr_t>& slot, std::uintptr_t expected, std::uintptr_t left,
                       const wait_reason& why, time_point deadline);
  // Another thread will certainly wake a fiber, or has done so (-1). The runtime's end waits for that.
  void (*count_wakers)(sennit_worker& w, int change) noexcept;
  // No fiber runs. Returns false if none is ready, or awaits what the runtime would notice. Then none can
  // end, and free its stack, unless another thread wakes it.
  bool (*may_free_stack)(sennit_worker& w) noexcept;
  // Returns whether another fiber than the running one may be ready. Read by another thread, so it may be
  // wrong.
  bool (*seems_to_have_others)(const sennit_worker& w) noexcept;
  // Returns a worker of the same runtime, or null if there are not so many.
  sennit_worker* (*worker_at)(sennit_worker& w, std::size_t number) noexcept;
};
extern const worker_operations local_operations;

// The limit on a runtime's fibers. `made` counts descriptors, under descriptors_lock(). It is compared only
// if there is no finished fiber for reuse, so spawning pays nothing for the limit.
struct fiber_limit {
  std::size_t most = 0;  // 0: no limit
  std::size_t made = 0;
};

// A post from another thread. The worker's thread runs it. A post that never runs is deleted.
struct posted {
  posted* next = nullptr;
  bool makes_fiber = false;
  virtual ~posted() = default;
  // Returns false if there is no memory, or no room, for its fiber: then it runs again later. Otherwise it
  // has disposed of itself.
  virtual bool run() = 0;
};
// Posts that run again later, the oldest first.
struct delayed_posts {
  posted* first = nullptr;
  posted* last = nullptr;  // if there is a first
  void add(posted* post) noexcept {
    post->next = nullptr;
    (first == nullptr ? first : last->next) = post;
    last = post;
  }
};

}  // namespace sennit::inline v0_1::detail

struct sennit_worker {
  // Used by every switch. What a switch writes is in one line.
  sennit::detail::run_queue ready;
  unsigned until_poll = sennit::detail::poll_interval;
  bool unwinding = false;         // the runtime ends
  std::uint16_t bias_number = 0;  // of a parallel runtime's worker, or 0: nothing can be biased towards it
  void* stack;  // the scheduler steps'; the word at it is the main fiber's context (backtraces of scheduler
                // steps continue there)
  int* error_number = nullptr;  // the errno of the thread that runs it
  std::uint64_t now = 0;        // monotonic_now() at the last poll
  std::uint64_t parks_at = 1;   // parked_at() of that time, for fibers that park before the next poll
  // Used when a fiber starts and ends.
  sennit::detail::fiber* idle =
      nullptr;  // finished fibers with their stacks: run loops that wait for a message
  sennit::detail::dispatching* parallel = nullptr;  // a parallel runtime's: its own part (of C, capi/ring.h)
  // Constant data that other workers read. Two lines apart from changing data, because the processor fetches
  // lines in pairs.
  alignas(128) sennit::detail::parallel_runtime* shared;  // null: a local runtime's worker
  const sennit::detail::worker_operations& operations;
  sennit::detail::stack_shape usual_stack;  // for fibers that request no other
  sennit::detail::stack_memory stack_memory;
  sennit::detail::owner<sennit::detail::driver> driver;
  std::atomic<const sennit::detail::fault_hook*> fault_hook{nullptr};  // for fibers that have none
  std::atomic<sennit::detail::local_value*> upcalls{nullptr};  // the runtime's, in its first worker (rpc's)
  const unsigned process = sennit::detail::process_generation();  // in which it was made
  // Other data.
  alignas(128) sennit::detail::timer_wheel deadlines;  // a local runtime's
  // Stacks of fibers that ended before they were joined, or blocked without a stack.
  sennit::detail::coroutine_frame* spare_frames = nullptr;
  std::size_t spare_frame_count = 0;
  struct sennit::detail::idle_stacks idle_stacks;
  sennit::detail::refused_fibers refused;
  struct sennit::detail::spare_descriptors spare_descriptors;
  sennit::detail::lent_stack* large_stacks = nullptr;  // idle ones (on_large_stack.hpp)
  unsigned large_stack_count = 0;
  sennit::detail::fiber_limit own_limit;  // a local runtime's
  sennit::detail::fiber_limit* limit;     // the runtime's
  sennit::detail::block_pool blocks;      // for continuations
  std::atomic<int> thread{0};             // gettid() of the thread that runs it; 0: none does
  sennit::detail::fiber main_fiber;
  sennit::detail::fiber* main_waits_for =
      nullptr;                               // run(): the main fiber continues when this fiber has finished
  sennit::detail::time_point main_deadline;  // run_once(): until when to wait for a first event
  bool main_wanted = false;                  // the main fiber continues at the next dispatch
  std::atomic<unsigned> rest{0};     // odd: run() waits, and only a post can end that, or a fiber blocks the
                                     // whole thread; otherwise a count of such waits
  std::size_t pending_offloads = 0;  // fibers that another thread will certainly wake by a post
  // When to report what keeps the runtime from ending; never: it is not ending, or was reported.
  sennit::detail::time_point end_is_late_at = sennit::detail::never;
  sennit::detail::inbox<sennit::detail::posted> inbox;  // a sleeping worker is woken through its driver
  sennit::detail::delayed_posts delayed;
  sennit::detail::adaptive_poll_interval polling;
  bool yield_deferred = false;  // a forced yield was not possible when requested, and happens later
  sennit::detail::time_slice slice;
  sennit_context main_context = nullptr;                     // the context of scheduler steps that need one
  sennit::detail::switch_identity* main_identity = nullptr;  // and its identity for sanitizers
#if defined(SENNIT_SANITIZED)
  sennit::detail::coroutine_frame* attached = nullptr;  // the entered fiber's stack, until it is attached
#endif

  // A local runtime's.
  sennit_worker(sennit::run_policy policy, sennit::detail::stack_shape usual_stack);
  // One of several.
  sennit_worker(sennit::run_policy policy, sennit::detail::stack_shape usual_stack,
                const sennit::detail::worker_operations& does, sennit::detail::parallel_runtime* of,
                sennit::detail::fiber_limit& most);
  ~sennit_worker();
  sennit_worker(const sennit_worker&) = delete;
  sennit_worker& operator=(const sennit_worker&) = delete;

  bool is_local() const noexcept { return shared == nullptr; }
  // Identifies its runtime.
  const void* runtime_id() const noexcept { return is_local() ? static_cast<const void*>(this) : shared; }
};

namespace sennit::inline v0_1::detail {

using worker = sennit_worker;

// How many idle large stacks a worker keeps.
inline constexpr unsigned most_large_stacks = 4;
void drop_large_stacks(worker& w) noexcept;

inline stack_shape stack_shape_of(const worker& w, const fiber& f) noexcept {
  return f.overflow != nullptr && f.overflow->stack != stack_shape{} ? f.overflow->stack : w.usual_stack;
}
inline void must_be_of_kind(const fiber& f, bool parallel, const char* reason) noexcept {
  if (f.home->is_local() == parallel) [[unlikely]]
    is_of_other_kind(parallel, reason);
}
inline bool continuation_access::has_values(const fiber& f, const coroutine_frame& frame) noexcept {
  return has_name_or_locals(f, frame) || frame.record.memory.shape != f.home->usual_stack;
}
inline void continuation_access::keep(continuation& made, const fiber& f) {
  if (has_values(f, *f.frame)) [[unlikely]]
    keep_overflow(made, f);
}

// How many idle stacks a worker keeps.
inline constexpr std::size_t most_spare_frames = 128;

// The deadline of a fiber of a local runtime, during its wait.
struct local_timer : timer_node {
  local_timer(timer_wheel& among, fiber& waits, time_point deadline) : wheel(among), who(waits) {
    wheel.add(*this, deadline);
  }
  ~local_timer() { wheel.remove(*this); }
  local_timer(const local_timer&) = delete;
  local_timer& operator=(const local_timer&) = delete;
  timer_wheel& wheel;
  fiber& who;
};

// Returns the calling thread's worker, or null.
SENNIT_INLINE worker* this_worker() noexcept {
  return sennit_thread_worker();
}

// Fatal: no fiber runs on this thread, or one of a local runtime where a parallel one is required. `what`:
// the called function.
[[noreturn, gnu::cold]] void no_fiber_here(const char* what) noexcept;

// In debug builds. Blocking may be refused because a fiber's state is being moved (faults_are_fatal.hpp).
SENNIT_INLINE void should_run_a_fiber([[maybe_unused]] const worker* w) noexcept {
#if !defined(NDEBUG)
  if (w == nullptr || !w->ready.running())
    sennit_should_hold_no_lock("waits", nullptr);
#endif
  assert(w != nullptr && w->ready.running() &&
         "sennit: this blocks, and is for fibers: call it in runtime.run()");
}

// Returns the worker of a calling fiber. Only asserts that there is one: a test in every build would cost a
// twentieth of a channel's time.
SENNIT_INLINE worker& running_worker() noexcept {
  worker* w = this_worker();
  should_run_a_fiber(w);
  return *w;
}

// For functions that users call: in release builds, too, fatal if the thread runs no fibers. `what`: the
// called function.
SENNIT_INLINE worker& running_worker(const char* what) noexcept {
  worker* w = this_worker();
  if (w == nullptr) [[unlikely]]
    no_fiber_here(what);
  should_run_a_fiber(w);
  return *w;
}

// Also fatal if the thread is a worker that runs no fiber at this moment. Not inline: for functions that are
// slow enough.
worker& running_worker_for(const char* what) noexcept;

// Returns the running fiber of any runtime, looked up anew at every call.
SENNIT_INLINE fiber& current_fiber() noexcept {
  return *this_worker()->ready.current;
}

#if defined(SENNIT_SANITIZED)
std::uintptr_t suspend_to_main(worker& w, sennit_scheduler_step step, void* argument, bool keep) noexcept;
#endif

// Leaves the running fiber; `step(context, argument)` returns what to enter. Returns the word of the
// resume.
SENNIT_INLINE std::uintptr_t suspend(worker& w, sennit_scheduler_step step, void* argument,
                                     [[maybe_unused]] bool keep = true) {
#if defined(SENNIT_SANITIZED)
  return suspend_to_main(w, step, argument, keep);
#else
  return sennit_suspend(w.stack, step, argument);
#endif
}

// Deciders. The argument is the worker.
extern "C" {
sennit_decision sennit_dispatch_main(sennit_context self, void* argument);
sennit_decision sennit_dispatch_yield(sennit_context self, void* argument);
sennit_decision sennit_dispatch_park(sennit_context self, void* argument);
sennit_decision sennit_dispatch_finish(sennit_context self, void* argument);
sennit_decision sennit_dispatch_become(sennit_context self, void* argument);
sennit_decision sennit_dispatch_after_handoff(sennit_context self, void* left);
sennit_decision sennit_dispatch_for_current(sennit_context self, void* left);
}

// Returns how to enter a fiber that is already current. A stackless one gets a stack. This must not be the
// stack that is being left, so the worker must not have that one yet.
SENNIT_INLINE sennit_decision entering(worker& w, fiber& next) noexcept {
  if (next.flags.stackless) [[unlikely]]
    return stack_for(w, next);
  return {next.context, next.word};
}

// Called when a poll is due. Returns true if there is nothing to poll: the poll then counts as done. Returns
// false, without a change, if a scheduler step must poll.
[[gnu::cold]] bool no_external_events(worker& w) noexcept;

#if defined(SENNIT_SANITIZED)
inline constexpr bool direct_entry = false;
inline std::uintptr_t switch_context(fiber&, const sennit_decision&) {
  return 0;
}
#else
inline constexpr bool direct_entry = true;
// Switches from the fiber `self`, which has been filed, to another one, which is current. Returns when `self`
// is resumed, with its word. (With a continuation, see spawn.hpp.)
SENNIT_INLINE std::uintptr_t switch_context(fiber& self, const sennit_decision& to) {
  return sennit_swapstack_saving(to.target, to.value, &self.context);
}
#endif

// Returns when delayed posts run again; never if there are none.
inline time_point next_try_of_posts(const worker& w) noexcept {
  return w.delayed.first != nullptr ? clock::now() + std::chrono::milliseconds(1) : never;
}

// After this time the end of a runtime reports, once, the fibers that delay it. A fiber that swallows the
// exception that should end it would delay it forever.
inline constexpr clock::duration late_end = std::chrono::seconds(2);
// Describes, for diagnostics, why a fiber waits.
const char* what_it_does(const fiber& f) noexcept;
// The runtime begins to end; it has not ended yet.
void note_end_begins(worker& w) noexcept;
[[gnu::cold]] void report_late_end(worker& w) noexcept;

// Records a poll. Returns the number of dispatches until the next one. This is 1 while the runtime ends, so
// that no entry is direct, and a scheduler step sees every park and yield.
unsigned until_next_poll(worker& w, poll_result what) noexcept;

// Counts a dispatch. Returns false if a scheduler step must poll before it, or if scheduler steps make every
// switch here.
SENNIT_INLINE bool may_enter_directly(worker& w) noexcept {
  if (--w.until_poll == 0) [[unlikely]]
    if (!no_external_events(w))
      return false;
  return direct_entry;
}

// The word that a scheduler step passes to a yielding fiber with a yield continuation: the fiber must leave
// its frames and continue with that. (Other words: 0, or 1 to unwind.)
inline constexpr std::uintptr_t resume_via_continuation = 2;

// The rest of a yield that received a word. Throws forced_unwind, so that the frames are left. The
// continuation is then kept for try_body. If nothing may be thrown at this moment, yields normally.
[[gnu::cold]] void finish_interrupted_yield(std::uintptr_t word);

// In builds with assertions, checks the stack of a fiber that waits or yields: other fibers run next, perhaps
// on memory that it has overrun.
inline void stack_should_be_whole([[maybe_unused]] const fiber& running) noexcept {
#if !defined(NDEBUG)
  if (running.frame != nullptr)
    stack_should_be_whole(running.frame->record);
#endif
}

// Lets the other ready fibers run first.
SENNIT_INLINE void yield() {
  worker& w = running_worker("this_fiber::yield");
  sennit_should_hold_no_lock("yields", nullptr);
  stack_should_be_whole(*w.ready.current);
  count_site();
  if (may_enter_directly(w)) [[likely]] {
    fiber* self = w.ready.current;
    if ((self->flags.slow_path & has_yield_continuation) == 0) [[likely]] {
      fiber* next = w.ready.rotate();
      // The word that resumes us is an old one: only a scheduler step makes a yielding fiber unwind.
      if (next != self) {
        count_block(yield_reason);
        switch_context(*self, entering(w, *next));
      }
      return;
    }
  }
  if (const std::uintptr_t word = suspend(w, sennit_dispatch_yield, &w)) [[unlikely]]
    finish_interrupted_yield(word);
}

// Yields by a scheduler step, which looks for external events first.
void yield_polling();

// Names the child that a fiber has entered by spawn_now, in the fiber's word, until the fiber resumes.
inline std::uintptr_t entering_word(const fiber& child) noexcept {
  return reinterpret_cast<std::uintptr_t>(&child) + 1;
}
[[gnu::cold]] void enter_new_polling(worker& w, fiber& child);

// The running fiber has made `child`, which runs next. It continues right behind the child; after a poll,
// behind the others.
SENNIT_INLINE void enter_new(worker& w, fiber& child) {
  sennit_should_hold_no_lock("calls spawn_now", nullptr);
  fiber& self = *w.ready.current;
  stack_should_be_whole(self);
  count_site();
  if (direct_entry && w.is_local() && --w.until_poll != 0) [[likely]] {
    self.word = entering_word(child);
    w.ready.enter_before(self, child);
    switch_context(self, entering(w, child));
    self.word = 0;
  } else {
    enter_new_polling(w, child);
  }
}

// Runs fibers on the calling thread until a scheduler step returns the main fiber. `step`: the first one.
void run_fibers(worker& w, sennit_scheduler_step step) noexcept;

// bind_thread(): the thread becomes the worker, until unbind_thread(). Fatal if it cannot.
void bind_thread(worker& w) noexcept;
void unbind_thread(worker& w) noexcept;

// The rest of a park while the runtime ends. Returns the word, so that callers need not keep it.
[[gnu::cold]] std::uintptr_t throw_if_shutting_down(const worker& w, std::uintptr_t word);
// A joiner that must unwind receives `shutdown_sentinel` in place of the ended fiber. It is marked unusual,
// so that a check for unusual fibers covers it. throw_if_shutting_down() throws if `done` is
// `shutdown_sentinel`.
struct shutdown_sentinel_fiber : fiber {
  constexpr shutdown_sentinel_fiber() noexcept { flags.slow_path = needs_slow_path; }
};
extern shutdown_sentinel_fiber shutdown_sentinel;
[[gnu::cold]] void throw_if_shutting_down(const fiber& done);

// Called when the awaited action did not happen because its performer has left. Throws at once if the fiber
// would have to unwind at its next wait.
[[gnu::cold]] void throw_if_shutdown_pending();

// A parked fiber that is in no list any more becomes ready, with the word that is stored in it.
SENNIT_INLINE void mark_ready(fiber& f, fiber_status why) {
  assert(f.is_parked());
  f.flags.status = why;
}

// Makes a parked fiber ready, to run soon: it probably uses the data that its waker just touched. Called only
// on the worker's own thread, usually by one of its fibers. Whether this is the fiber's worker is found by
// comparing. A store to an address that is read from the fiber would delay the loads that follow, such as the
// next fiber's. (That doubles the time of a hop in a ring.)
[[gnu::cold]] void unpark_from_outside(fiber& f);
SENNIT_INLINE void unpark(fiber& f) {
  worker* const w = this_worker();
  if (w != f.home) [[unlikely]]
    return unpark_from_outside(f);
  mark_ready(f, fiber_status::notified);
  w->ready.add_woken(&f);
}
SENNIT_INLINE void unpark(fiber& f, std::uintptr_t word) {
  f.word = word;
  unpark(f);
}

[[gnu::always_inline]] inline void set_wait_reason(fiber& self, const wait_reason& why) noexcept {
  store_in_order(self.reason, why.text);
  store_in_order(self.object, why.object);
}
// `self` has left the ring, and `next` is current. If `next` is null, a scheduler step must choose.
[[gnu::always_inline]] inline sennit_decision finish_block(worker& w, fiber& self, fiber_status as,
                                                           fiber* next) noexcept {
  store_in_order(self.flags.status, as);
  if (next == nullptr)
    return {};
  store_in_order(self.since, w.parks_at);
  return entering(w, *next);
}

// The part of a wait before the switch: the running fiber is marked as waiting, and the next fiber becomes
// current. Returns where to enter that one; null if a scheduler step must choose. Not inline: a program has
// many waits, and each inlined copy occupies the cache. In a ring of 503 fibers, that was half of a hop. The
// switch itself is outside: a call that returns after a switch costs more than the switch.
sennit_decision prepare_block(worker& w, fiber_status as, wait_reason why) noexcept;
// For a fiber that has woken another one, and may have done its work (a port's caller, to the server). The
// woken fiber becomes ready and runs next, past the queue, as often as the policy allows for the next slot.
sennit_decision prepare_block_waking(worker& w, fiber_status as, wait_reason why, fiber& woken) noexcept;

// The first steps of every wait. Returns the errno to keep.
SENNIT_INLINE int park_begins(const worker& w, const char* reason) {
  sennit_should_hold_no_lock("waits", reason);
  stack_should_be_whole(*w.ready.current);
  count_site();
  count_block(reason);
  return *w.error_number;
}
// First action after resume. Restores errno. Returns the current worker.
SENNIT_INLINE const worker& keep_errno(int kept) {
  const worker& here = *this_worker();  // read anew: cheaper than keeping it on our stack
  if (*here.error_number != kept) [[unlikely]]
    *here.error_number = kept;
  return here;
}
// The rest of a park. Returns its word.
SENNIT_INLINE std::uintptr_t park_ended(int kept, std::uintptr_t word) {
  const worker& here = keep_errno(kept);
  if (here.unwinding) [[unlikely]]
    return throw_if_shutting_down(here, word);
  return word;
}

SENNIT_INLINE std::uintptr_t park_unstoppable(worker& w, fiber_status as, wait_reason why,
                                              fiber* woken = nullptr) {
  fiber* const self = w.ready.current;
  const int kept = park_begins(w, why.text);
  const sennit_decision to =
      woken != nullptr ? prepare_block_waking(w, as, why, *woken) : prepare_block(w, as, why);
  return park_ended(kept,
                    to.target != nullptr ? switch_context(*self, to) : suspend(w, sennit_dispatch_park, &w));
}

// Blocks the running fiber until unpark() or the runtime's end, which throws forced_unwind. The caller has
// put the fiber where its waker finds it (in a list: `as` is waiting). Keeps errno. `why`: for dumps and
// debuggers. `woken`: a fiber to make ready, which runs next, or null. Returns the waker's word. The fiber's
// status tells whether a waker ended the park.
SENNIT_INLINE std::uintptr_t park(worker& w, fiber_status as, wait_reason why, fiber* woken = nullptr) {
  assert(w.ready.running());
  if (w.ready.current->flags.stoppable) [[unlikely]] {
    if (woken != nullptr)
      unpark(*woken, 0);
    return park_stoppable(w, as, why);
  }
  return park_unstoppable(w, as, why, woken);
}

// The slow path of park_joining(): the next fiber must be chosen in another way, or a poll is due.
[[gnu::cold]] std::uintptr_t park_joining_slow(worker& w, fiber& child) noexcept;
// Like park(), until a child has ended. A child that has not begun runs next, past others that are ready. So
// a tree of fibers that are joined is traversed in depth, and few of them have begun at a time. This is
// inlined completely, and prefetches nothing for later fibers: a program has few such waits. Returns the
// child, or `shutdown_sentinel`.
SENNIT_INLINE fiber& park_joining(worker& w, fiber& child) {
  constexpr fiber_status as = fiber_status::joining;
  const wait_reason why(join_reason, &child);
  fiber& self = *w.ready.current;
  std::uintptr_t done = 0;
  if (!direct_entry || self.flags.stoppable) [[unlikely]] {
    w.ready.bring_forward(self, child);
    child.joiner = &self;
    done = park(w, as, why);
  } else {
    assert(w.ready.running());
    const int kept = park_begins(w, why.text);
    set_wait_reason(self, why);
    fiber* const next = --w.until_poll != 0 ? w.ready.try_pop_current_joining(self, child) : nullptr;
    store_in_order(child.joiner, &self);  // here, because it follows another store into that line
    done =
        next != nullptr ? switch_context(self, finish_block(w, self, as, next)) : park_joining_slow(w, child);
    keep_errno(kept);
  }
  return *reinterpret_cast<fiber*>(done);
}

// In a word of a slot, the tag of a local runtime's fiber.
inline constexpr std::uintptr_t local_waiter = 2;

// Like park(), with a deadline. Returns false if it has passed. Then the fiber has left its list.
bool park_until(worker& w, fiber_status as, wait_reason why, time_point deadline);

// Prefetches for the next fiber: its stack, and the descriptor of the fiber after it. Call this while there
// is other work to do, not right before a system call. A prefetch that misses the TLB, as happens with a
// thousand stacks, is lost if the kernel is entered before the page is found. Measured with 1,000
// connections, 4 us a request: saves 0.1 us; with 50, no difference. Not for a parallel runtime's worker,
// because others may take its next fiber.
inline void prefetch_successor(const worker& w) noexcept {
  if (!w.is_local())
    return;
  constexpr std::ptrdiff_t line = 64;
  constexpr std::ptrdiff_t frames =
      10 * line;  // of a fiber that waits for I/O, and the beginning of its caller's
  const fiber* next = w.ready.head();
  if (next == nullptr)
    return;
  for (std::ptrdiff_t offset = 0; offset < frames; offset += line)
    prefetch_stack(*next, offset);
  __builtin_prefetch(next->next);
}

// Like unpark(), at the end of the queue: events from outside keep their order. (When the runtime ends, the
// word is for joiners: an exception takes all other fibers out of their waits before they read it.)
SENNIT_INLINE void unpark_back(fiber& f, fiber_status why) {
  worker& w = *f.home;
  f.word = why == fiber_status::unwinding
               ? reinterpret_cast<std::uintptr_t>(static_cast<fiber*>(&shutdown_sentinel))
               : 0;
  mark_ready(f, why);
  w.ready.add(&f);
}

}  // namespace sennit::inline v0_1::detail
