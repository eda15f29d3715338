// A worker runs fibers, one after another, on the thread that entered it. The thread is a fiber to it too:
// the host.
//
// A fiber that gives way, blocks or ends enters its successor directly, with no trip through a scheduler's
// context: inline code takes it from the queue and switches, with no call and no return; but who blocks
// calls what takes it, which returns before the switch. That is right on the
// running fiber's own stack because only this thread runs them: nobody can resume a fiber before its
// switch is over. (A worker that others steal from must publish a fiber only after it has left its stack.)
//
// When there is no successor, or it is time to look at what comes from outside, the fiber leaves by
// suspend(): its context is saved and a decider runs on the worker's own stack, which may wait there, and is
// left by a jump into the successor. Under sanitizers, which must see every switch, deciders run in the
// host's context, and every switch goes through one.
//
// Source: Dolan 2013, section 5: "the blocking fiber selects the next fiber to run via a simple subroutine
// call, and then context switches directly into it".
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "sennit/detail/arch/context.h"
#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/thread.h"
#include "sennit/detail/sched/block_pool.hpp"
#include "sennit/detail/sched/continuation.hpp"
#include "sennit/detail/sched/driver.hpp"
#include "sennit/detail/sched/fiber.hpp"
#include "sennit/detail/sched/followers.hpp"
#include "sennit/detail/sched/idle_stacks.hpp"
#include "sennit/detail/sched/inbox.hpp"
#include "sennit/detail/sched/look_pace.hpp"
#include "sennit/detail/sched/run_queue.hpp"
#include "sennit/detail/sched/time_slice.hpp"
#include "sennit/detail/sched/timer_wheel.hpp"
#include "sennit/detail/stack/sanitizer.hpp"
#include "sennit/detail/stack/stack.hpp"

namespace sennit::detail {

struct parallel_runtime;

// How many fibers a runtime may have. `made` counts descriptors, under descriptors_lock(); it is compared
// only when there is no finished fiber to use again, so spawning pays nothing for the limit.
struct fiber_limit {
  std::size_t most = 0;  // 0: no limit
  std::size_t made = 0;
};

// How many forks lie between the program's start and this process. A runtime is of no use in a child: it
// shares its descriptors with the parent, and fibers that run in both would do everything twice. The child
// may exec, or make runtimes of its own.
unsigned process_generation() noexcept;

// A post of another thread. The worker's thread runs it. A post that is never run is deleted.
struct posted {
  posted* next = nullptr;
  bool makes_fiber = false;
  virtual ~posted() = default;
  // Returns false if there is no memory, or no room, for its fiber: then it is run again later. Otherwise it
  // has disposed of itself.
  virtual bool run() = 0;
};
// Posts that are run again later, the oldest first.
struct delayed_posts {
  posted* first = nullptr;
  posted* last = nullptr;  // if there is a first
  void add(posted* post) noexcept {
    post->next = nullptr;
    (first == nullptr ? first : last->next) = post;
    last = post;
  }
};

}  // namespace sennit::detail

struct sennit_worker {
  // What every switch touches; what it writes in one line.
  sennit::detail::run_queue ready;
  unsigned until_poll = sennit::detail::poll_interval;
  bool unwinding = false;  // the runtime ends
  void* stack;  // the deciders'; the word at it is the host's context (backtraces of deciders go on there)
  int* error_number = nullptr;  // the errno of the thread that runs it
  std::uint64_t now = 0;        // monotonic_now(), when it last looked outside
  std::uint64_t parks_at = 1;   // parked_at() that: dumps take who parks next to wait since then
  // What start and end of a fiber touch.
  sennit::detail::fiber* idle =
      nullptr;  // finished fibers with their stacks: run loops that wait for a message
  // What never changes, and other workers read: apart from what does change, by two lines, for the processor
  // fetches such pairs together.
  alignas(128) sennit::detail::parallel_runtime* shared = nullptr;  // whose it is; null: a local runtime's
  sennit::detail::stack_shape usual_stack;                          // of fibers that do not ask for another
  sennit::detail::stack_memory stack_memory;
  std::unique_ptr<sennit::detail::driver> driver;
  std::atomic<const sennit::detail::fault_hook*> fault_hook{nullptr};  // of fibers that have none
  std::atomic<sennit::detail::local_value*> upcalls{nullptr};  // the runtime's: of its first worker (rpc's)
  const unsigned process = sennit::detail::process_generation();  // that it was made in
  // The rest.
  alignas(128) sennit::detail::timer_wheel deadlines;  // a local runtime's
  // Stacks of fibers that ended before they were joined, or blocked without.
  sennit::detail::coroutine_frame* spare_frames = nullptr;
  std::size_t spare_frame_count = 0;
  struct sennit::detail::idle_stacks idle_stacks;
  sennit::detail::lent_stack* large_stacks = nullptr;  // idle ones (on_large_stack.hpp)
  unsigned large_stack_count = 0;
  sennit::detail::fiber_limit own_limit;  // a local runtime's
  sennit::detail::fiber_limit* limit;     // the runtime's
  sennit::detail::block_pool blocks;      // for continuations
  std::atomic<int> thread{0};             // gettid() of the thread that runs it; 0: none does
  sennit::detail::fiber host;
  sennit::detail::fiber* host_waits_for = nullptr;  // run(): the host goes on when this one has finished
  sennit::detail::time_point host_deadline;         // run_once(): until when to wait for a first event
  bool host_wanted = false;                         // the host goes on at the next dispatch
  std::atomic<unsigned> rest{0};    // odd: run() waits, and only a post could come, or a fiber has the whole
                                    // thread wait; else its former waits
  std::size_t awaited_outside = 0;  // fibers that another thread will certainly wake by a post
  // When it is to be said who keeps the runtime from its end; never: it does not end, or it has been said.
  sennit::detail::time_point end_is_late_at = sennit::detail::never;
  sennit::detail::inbox<sennit::detail::posted> inbox;  // a sleeping worker is woken through its driver
  sennit::detail::delayed_posts delayed;
  sennit::detail::look_pace pace;
  bool yield_deferred = false;  // a fiber was to be made to yield, and was not: at the end of what kept it
  sennit::detail::time_slice slice;
  sennit_context host_context = nullptr;                     // the deciders' context where they need one
  sennit::detail::switch_identity* host_identity = nullptr;  // and whom sanitizers take it for
#if defined(SENNIT_SANITIZED)
  sennit::detail::coroutine_frame* attached = nullptr;  // the stack of who is entered, while it has none yet
#endif

  sennit_worker(sennit::run_policy policy, sennit::detail::stack_shape usual_stack,
                sennit::detail::parallel_runtime* of = nullptr);
  ~sennit_worker();
  sennit_worker(const sennit_worker&) = delete;
  sennit_worker& operator=(const sennit_worker&) = delete;
};

namespace sennit::detail {

using worker = sennit_worker;

// How many idle large stacks a worker keeps.
inline constexpr unsigned most_large_stacks = 4;
void drop_large_stacks(worker& w) noexcept;

inline stack_shape stack_shape_of(const worker& w, const fiber& f) noexcept {
  return f.far != nullptr && f.far->stack != stack_shape{} ? f.far->stack : w.usual_stack;
}
inline void must_be_of_kind(const fiber& f, bool parallel, const char* reason) noexcept {
  if ((f.home->shared != nullptr) != parallel) [[unlikely]]
    is_of_other_kind(parallel, reason);
}
inline bool continuation_access::has_values(const fiber& f, const coroutine_frame& frame) noexcept {
  return f.name[0] != 0 || frame.own.locals != nullptr || frame.record.memory.shape != f.home->usual_stack;
}
inline void continuation_access::keep(continuation& made, const fiber& f) {
  if (has_values(f, *f.frame)) [[unlikely]]
    keep_far(made, f);
}

// How many stacks that no fiber uses a worker keeps.
inline constexpr std::size_t most_spare_frames = 128;

// The deadline of a fiber of a local runtime, as long as it waits.
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

// The worker that the calling thread is, or null.
SENNIT_INLINE worker* this_worker() noexcept {
  return sennit_thread_worker();
}

// No fiber runs on this thread, or one of a local runtime where it is to be of the other kind: says so of
// `what`, and ends the program.
[[noreturn, gnu::cold]] void no_fiber_here(const char* what) noexcept;

// In debug builds: moving a fiber's state may have been refused to block (faults_are_fatal.hpp).
SENNIT_INLINE void should_run_a_fiber([[maybe_unused]] const worker* w) noexcept {
#if !defined(NDEBUG)
  if (w == nullptr || !w->ready.running())
    sennit_should_hold_no_lock("waits", nullptr);
#endif
  assert(w != nullptr && w->ready.running() &&
         "sennit: this blocks, and is for fibers: call it in runtime.run()");
}

// The worker that the calling thread is, where there must be one: in a fiber. Asserted: in every build the
// test would be a twentieth of a channel's time.
SENNIT_INLINE worker& running_worker() noexcept {
  worker* w = this_worker();
  should_run_a_fiber(w);
  return *w;
}

// The same of what users call: in a release, too, it is said if the thread runs no fibers. `what` is for
// them.
SENNIT_INLINE worker& running_worker(const char* what) noexcept {
  worker* w = this_worker();
  if (w == nullptr) [[unlikely]]
    no_fiber_here(what);
  should_run_a_fiber(w);
  return *w;
}

// The same, and also said where the thread is a worker, but runs no fiber just now: a call, for what is not
// so quick that it would count.
worker& running_worker_for(const char* what) noexcept;

// The fiber that runs, of whatever runtime, looked up anew at every call.
SENNIT_INLINE fiber& current_fiber() noexcept {
  return *this_worker()->ready.current;
}

#if defined(SENNIT_SANITIZED)
std::uintptr_t suspend_to_host(worker& w, sennit_decider decide, void* argument, bool keep) noexcept;
#endif

// Leaves the running fiber; `decide(context, argument)` says who goes on. Returns the word of our resume.
SENNIT_INLINE std::uintptr_t suspend(worker& w, sennit_decider decide, void* argument,
                                     [[maybe_unused]] bool keep = true) {
#if defined(SENNIT_SANITIZED)
  return suspend_to_host(w, decide, argument, keep);
#else
  return sennit_suspend(w.stack, decide, argument);
#endif
}

// Deciders. The argument is the worker.
extern "C" {
sennit_decision sennit_decide_host(sennit_context self, void* argument);
sennit_decision sennit_decide_yield(sennit_context self, void* argument);
sennit_decision sennit_decide_park(sennit_context self, void* argument);
sennit_decision sennit_decide_finish(sennit_context self, void* argument);
sennit_decision sennit_decide_become(sennit_context self, void* argument);
sennit_decision sennit_decide_after_handoff(sennit_context self, void* left);
sennit_decision sennit_decide_for_current(sennit_context self, void* left);
}

// A switch to one that is current already. One that is stackless gets a stack; not the one that is left now,
// so that must not be the worker's yet.
SENNIT_INLINE sennit_decision entering(worker& w, fiber& next) noexcept {
  if (next.flags.stackless) [[unlikely]]
    return stack_for(w, next);
  return {next.context, next.word};
}

// It is time to look outside. True: there is nothing to see, and that it was looked for is noted. False: a
// decider must look; nothing has changed.
[[gnu::cold]] bool quiet_outside(worker& w) noexcept;

#if defined(SENNIT_SANITIZED)
inline constexpr bool direct_entry = false;
inline std::uintptr_t switch_context(fiber&, const sennit_decision&) {
  return 0;
}
#else
inline constexpr bool direct_entry = true;
// Switches from the fiber `self`, which has been filed, to another, which is current. Returns when `self` is
// resumed: the word of that. (By a continuation: spawn.hpp.)
SENNIT_INLINE std::uintptr_t switch_context(fiber& self, const sennit_decision& to) {
  return sennit_swapstack_saving(to.target, to.value, &self.context);
}
#endif

// When delayed posts are to be run again; never: there are none.
inline time_point next_try_of_posts(const worker& w) noexcept {
  return w.delayed.first != nullptr ? clock::now() + std::chrono::milliseconds(1) : never;
}

// So long the end of a runtime takes before it is said, once, who keeps it from that: who has caught what was
// to end it would so go on for ever.
inline constexpr clock::duration late_end = std::chrono::seconds(2);
// What a fiber waits for, for people.
const char* what_it_does(const fiber& f) noexcept;
// The runtime begins to end. And: it has not ended yet.
void note_end_begins(worker& w) noexcept;
[[gnu::cold]] void report_late_end(worker& w) noexcept;

// A look outside was made: notes when. After how many dispatches the next one is to be made: 1, when the
// runtime ends, so that no entry is direct, and every park and yield is seen.
unsigned until_next_look(worker& w, look_result what) noexcept;

// One dispatch more. False: a decider must look outside before it, or makes every switch here.
SENNIT_INLINE bool may_enter_directly(worker& w) noexcept {
  if (--w.until_poll == 0) [[unlikely]]
    if (!quiet_outside(w))
      return false;
  return direct_entry;
}

// What a decider hands to who yields, has a yield continuation, and has not given way yet: it is to go on
// elsewhere. (Others are handed 0; or 1, to leave.)
inline constexpr std::uintptr_t told_to_go_on = 2;

// What is left of a yield that was handed something: throws forced_unwind, so that the frames are left;
// what the fiber goes on with is then kept for try_body. Where nothing may be thrown just now, yields as
// others do.
[[gnu::cold]] void leave_by_yield(std::uintptr_t told);

// Who waits or yields, in builds with assertions: others run next, on what it may have overrun.
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
    if ((self->flags.unusual & yields_away) == 0) [[likely]] {
      fiber* next = w.ready.rotate();
      // The word that resumes us is a former one: only a decider tells a fiber that yields to unwind.
      if (next != self) {
        count_block(yield_reason);
        switch_context(*self, entering(w, *next));
      }
      return;
    }
  }
  if (const std::uintptr_t told = suspend(w, sennit_decide_yield, &w)) [[unlikely]]
    leave_by_yield(told);
}

// Leaves the thread's own code (the host) until a decider names the host. `decide` is the first.
void host_leaves(worker& w, sennit_decider decide) noexcept;

// The thread is the worker from now on, until host_goes. Ends the program where it cannot be.
void host_enters(worker& w) noexcept;
void host_goes(worker& w) noexcept;

// The rest of a park while the runtime ends. Returns the word, which so need not be kept beside.
[[gnu::cold]] std::uintptr_t leave_if_told(const worker& w, std::uintptr_t word);
// Who is told to leave where others are told who has ended: `nobody`, which is unusual, so that whoever
// looks for that needs no other test. Nobody is `done` then.
struct nobody_done : fiber {
  constexpr nobody_done() noexcept { flags.unusual = is_unusual; }
};
extern nobody_done nobody;
[[gnu::cold]] void leave_if_told(const fiber& done);

// A fiber that is to be told so at its next wait is told here: what it has waited for was not done, since who
// was to do it has left.
[[gnu::cold]] void leave_if_due();

// A parked fiber that is in no list any more is about to be ready, with the word that lies in it.
SENNIT_INLINE void awaken(fiber& f, fiber_status why) {
  assert(f.is_parked());
  f.flags.status = why;
}

// Makes a parked fiber ready, soon to run: it is likely to want what its waker just touched.
// Only on the worker's own thread, as a rule by one of its fibers. That its worker is this one is found by
// comparing: a store whose address is read from the fiber would keep the loads that follow waiting, the next
// fiber's among them (twice the time of a hop in a ring).
[[gnu::cold]] void unpark_from_outside(fiber& f);
SENNIT_INLINE void unpark(fiber& f) {
  worker* const w = this_worker();
  if (w != f.home) [[unlikely]]
    return unpark_from_outside(f);
  awaken(f, fiber_status::notified);
  w->ready.add_woken(&f);
}
SENNIT_INLINE void unpark(fiber& f, std::uintptr_t word) {
  f.word = word;
  unpark(f);
}

[[gnu::always_inline]] inline void waits_for(fiber& self, const wait_reason& why) noexcept {
  store_in_turn(self.reason, why.text);
  store_in_turn(self.object, why.object);
}
// It is in no ring any more, and `next` is current; where that is null, a decider must say who is next.
[[gnu::always_inline]] inline sennit_decision left_for(worker& w, fiber& self, fiber_status as,
                                                       fiber* next) noexcept {
  store_in_turn(self.flags.status, as);
  if (next == nullptr)
    return {};
  store_in_turn(self.since, w.parks_at);
  return entering(w, *next);
}

// What comes before the switch of a wait: the running fiber is filed as one that waits, and who runs next is
// current. Where that one is to be entered; null: a decider must say. A call, for a program has many waits,
// and what is inlined into each is fetched into the cache for each: in a ring of 503 fibers that was half of
// a hop. The switch itself is not in it: a call that returns after one costs more than the switch.
sennit_decision leave_for_next(worker& w, fiber_status as, wait_reason why) noexcept;
// The same where it has woken one, whose work it may have done (a port's caller, to the server): that one is
// made ready, and gets its turn, past the queue, as often as the policy lets one that is in the slot.
sennit_decision leave_for(worker& w, fiber_status as, wait_reason why, fiber& woken) noexcept;

// What every wait of a fiber does before it leaves; the errno that is to be kept.
SENNIT_INLINE int park_begins(const worker& w, const char* reason) {
  sennit_should_hold_no_lock("waits", reason);
  stack_should_be_whole(*w.ready.current);
  count_site();
  count_block(reason);
  return *w.error_number;
}
// And when it is resumed, first; the worker.
SENNIT_INLINE const worker& keep_errno(int kept) {
  const worker& here = *this_worker();  // read anew: cheaper than to keep it on our stack
  if (*here.error_number != kept) [[unlikely]]
    *here.error_number = kept;
  return here;
}
// The rest, with a word, which it returns.
SENNIT_INLINE std::uintptr_t park_ended(int kept, std::uintptr_t word) {
  const worker& here = keep_errno(kept);
  if (here.unwinding) [[unlikely]]
    return leave_if_told(here, word);
  return word;
}

SENNIT_INLINE std::uintptr_t park_unstoppable(worker& w, fiber_status as, wait_reason why,
                                              fiber* woken = nullptr) {
  fiber* const self = w.ready.current;
  const int kept = park_begins(w, why.text);
  const sennit_decision to = woken != nullptr ? leave_for(w, as, why, *woken) : leave_for_next(w, as, why);
  return park_ended(kept,
                    to.target != nullptr ? switch_context(*self, to) : suspend(w, sennit_decide_park, &w));
}

// Where the fiber has guards: throws sennit::cancelled, too.
[[gnu::cold]] std::uintptr_t park_stoppable(worker& w, fiber_status as, wait_reason why);

// Blocks the running fiber, which the caller has put where its waker will find it (in a list: then `as` is
// waiting), until unpark or the runtime's end (then it leaves by forced unwind). errno is kept. `why`: what
// dumps and debuggers show. `woken`: who is made ready by that, to run next, or null. Returns the waker's
// word; the fiber's status says whether it was a waker at all.
SENNIT_INLINE std::uintptr_t park(worker& w, fiber_status as, wait_reason why, fiber* woken = nullptr) {
  assert(w.ready.running());
  if (w.ready.current->flags.stoppable) [[unlikely]] {
    if (woken != nullptr)
      unpark(*woken, 0);
    return park_stoppable(w, as, why);
  }
  return park_unstoppable(w, as, why, woken);
}

// The rest of park_joining(), where who runs next must be found otherwise, or the worker must look outside.
[[gnu::cold]] std::uintptr_t park_otherwise(worker& w, fiber_status as) noexcept;
// The same as park(), until a child has ended, and inlined whole, but that nothing is fetched for those
// behind the next: a program has few such waits. Returns the child, or `nobody`.
SENNIT_INLINE fiber& park_joining(worker& w, fiber& child) {
  constexpr fiber_status as = fiber_status::joining;
  const wait_reason why(join_reason, &child);
  fiber& self = *w.ready.current;
  std::uintptr_t done = 0;
  if (!direct_entry || self.flags.stoppable) [[unlikely]] {
    child.joiner = &self;
    done = park(w, as, why);
  } else {
    assert(w.ready.running());
    const int kept = park_begins(w, why.text);
    waits_for(self, why);
    fiber* const next = --w.until_poll != 0 ? w.ready.step_off_quickly(self) : nullptr;
    store_in_turn(child.joiner, &self);  // here: it follows another one into that line
    done = next != nullptr ? switch_context(self, left_for(w, self, as, next)) : park_otherwise(w, as);
    keep_errno(kept);
  }
  return *reinterpret_cast<fiber*>(done);
}

// As park(), but not beyond a deadline: then false, and the fiber has left the list it waited in.
bool park_until(worker& w, fiber_status as, wait_reason why, time_point deadline);

// Prepares the cache for who runs next: its stack, and the descriptor of who runs after it. To be called when
// there is still work to do, not right before a system call: a prefetch that misses the TLB, as it does with
// a thousand stacks, is lost when the kernel is entered before the page is found. Measured with 1,000
// connections, 4 us a request: 0.1 us less than without; with 50, no difference. Of a parallel runtime's
// worker others may take who is next.
inline void prefetch_successor(const worker& w) noexcept {
  if (w.shared != nullptr)
    return;
  constexpr std::ptrdiff_t line = 64;
  constexpr std::ptrdiff_t frames =
      10 * line;  // of one that waits for I/O, and the beginning of its caller's
  const fiber* next = w.ready.head();
  if (next == nullptr)
    return;
  for (std::ptrdiff_t offset = 0; offset < frames; offset += line)
    prefetch_stack(*next, offset);
  __builtin_prefetch(next->next);
}

// As unpark(), in its turn: what comes from outside, in the order in which it came. (The word of who is told
// to leave is for who joins: all others are thrown out of their waits before they see it.)
SENNIT_INLINE void unpark_in_turn(fiber& f, fiber_status why) {
  worker& w = *f.home;
  f.word =
      why == fiber_status::unwinding ? reinterpret_cast<std::uintptr_t>(static_cast<fiber*>(&nobody)) : 0;
  awaken(f, why);
  w.ready.add(&f);
}

}  // namespace sennit::detail
