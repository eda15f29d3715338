// The deciders and what they call: who runs next, and how a worker waits when nobody can.
#include "sennit/detail/sched/worker.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <utility>

#include "sennit/detail/fault/overflow.hpp"
#include "sennit/detail/sched/spawn.hpp"

namespace sennit::detail {

namespace {

// The running fiber is already current.
sennit_decision enter(const fiber* next) noexcept {
  return {next->context, next->word};
}

void run_posts(worker& w) noexcept {
  posted* newest = w.inbox.exchange(nullptr, std::memory_order_acquire);
  posted* oldest = nullptr;
  while (newest != nullptr)  // the inbox is a stack; posts run in their order
    newest = std::exchange(newest->next, std::exchange(oldest, newest));
  while (oldest != nullptr) {
    posted* post = std::exchange(oldest, oldest->next);
    post->run();  // spawns
    delete post;
  }
}

void wake_due(worker& w) noexcept {
  if (w.deadlines.earliest() == never)
    return;
  const time_point now = clock::now();
  while (fiber* f = w.deadlines.take_due(now)) {
    if (f->waits_in != nullptr)
      list_remove(*f->waits_in, *f);
    unpark_in_turn(*f, wake::timed_out);
  }
}

// How many dispatches until the next look outside. 1, when the runtime ends: no direct entry then, every park
// and yield is seen.
void renew_poll(worker& w) noexcept {
  w.until_poll = w.unwinding ? 1 : poll_interval;
}

// Every so many dispatches. The host, if it is its turn, else null.
[[gnu::noinline, gnu::cold]] fiber* look_outside(worker& w) noexcept {
  renew_poll(w);
  if (w.inbox.load(std::memory_order_relaxed) != nullptr)
    run_posts(w);
  wake_due(w);
  if (w.driver->watching()) {
    const int kept = errno;
    w.driver->wait(time_point::min());
    errno = kept;
  }
  return w.host_wanted ? &w.host : nullptr;
}

// run_once(): the fibers that are ready now may run, then the host goes on.
void limit_run(worker& w) noexcept {
  w.host_wanted = true;
  w.until_poll = static_cast<unsigned>(w.ready.size());
}

time_point idle_until(const worker& w, bool once) noexcept {
  const time_point due = w.deadlines.earliest();
  if (w.unwinding)
    return due == never ? time_point::min() : due;
  return once ? std::min(due, w.host_deadline) : due;
}

// Nobody can run: waits until somebody can. The host, if it need not wait or will not wait longer. The driver
// is not asked to look before it waits: that would be a system call for nothing.
[[gnu::noinline, gnu::cold]] fiber* idle(worker& w) noexcept {
  const bool once = w.host_waits_for == nullptr;
  renew_poll(w);
  for (bool waited = false;; waited = true) {
    if (w.inbox.load(std::memory_order_relaxed) != nullptr)
      run_posts(w);
    wake_due(w);
    if (w.host_wanted)
      return &w.host;
    if (!w.ready.empty()) {
      if (once && !w.unwinding)
        limit_run(w);
      return w.ready.next();
    }
    if (waited && once && (w.unwinding ? w.deadlines.earliest() == never : clock::now() >= w.host_deadline))
      return &w.host;
    w.sleeping.store(true, std::memory_order_seq_cst);  // pairs with worker_post: it pushes, then looks here
    if (w.inbox.load(std::memory_order_seq_cst) == nullptr)
      w.driver->wait(idle_until(w, once));
    w.sleeping.store(false, std::memory_order_relaxed);
  }
}

[[gnu::always_inline]] inline fiber* next_fiber(worker& w) noexcept {
  if (w.until_poll == 0) [[unlikely]]
    if (fiber* host = look_outside(w))
      return host;
  if (fiber* f = w.ready.next()) [[likely]]
    return f;
  return idle(w);
}

sennit_decision decide_host_leaves(sennit_context self, void* argument) {
  worker& w = *static_cast<worker*>(argument);
  w.host.context = self;
  *static_cast<sennit_context*>(w.stack) = self;
  look_outside(w);
  if (w.host_waits_for == nullptr && !w.unwinding && !w.ready.empty())
    limit_run(w);
  return enter(next_fiber(w));
}

}  // namespace

extern "C" {

sennit_decision sennit_decide_yield(sennit_context self, void* argument) {
  worker& w = *static_cast<worker*>(argument);
  fiber* running = w.ready.current;
  running->context = self;
  running->word = std::exchange(running->flags.unwind, false);
  if (w.until_poll == 0) [[unlikely]] {
    if (fiber* host = look_outside(w)) {
      w.ready.suspend_ring();
      return enter(host);
    }
  }
  return enter(w.ready.rotate());
}

sennit_decision sennit_decide_park(sennit_context self, void* argument) {
  worker& w = *static_cast<worker*>(argument);
  fiber* running = w.ready.current;
  running->context = self;
  w.ready.remove_running();
  if (std::exchange(running->flags.unwind, false)) [[unlikely]] {
    if (running->waits_in != nullptr)
      list_remove(*running->waits_in, *running);
    unpark_in_turn(*running, wake::unwinding);
  }
  return enter(next_fiber(w));
}

// The running fiber has ended and fiber_loop has filed it, but for what must wait until its stack is left.
sennit_decision sennit_decide_finish(sennit_context self, void* argument) {
  worker& w = *static_cast<worker*>(argument);
  fiber& done = *w.ready.current;
  done.context = self;
  w.ready.remove_running();
  if (done.flags.owned && done.joiner == nullptr)
    fiber_detach_frame(w, done);
  if (done.joiner != nullptr)
    unpark(*done.joiner, 0);
  if (!done.flags.owned)
    fiber_give(w, done);
  if (&done == w.host_waits_for) [[unlikely]] {
    w.host_waits_for = nullptr;
    return enter(&w.host);
  }
  return enter(next_fiber(w));
}

}  // extern "C"

#if defined(SENNIT_SANITIZED)

namespace {
struct request {
  sennit_decider decide;
  void* argument;
};
}  // namespace

[[gnu::noinline]] SENNIT_UNSANITIZED std::uintptr_t suspend_to_host(worker& w, sennit_decider decide,
                                                                    void* argument, bool keep) noexcept {
  request wanted{decide, argument};
  const sennit_transfer transfer =
      swap(w.host_context, reinterpret_cast<std::uintptr_t>(&wanted), w.host_identity, keep);
  this_worker()->host_context = transfer.from;
  return transfer.value;
}

// Runs fibers until a decider names the host.
SENNIT_UNSANITIZED static void host_leaves(worker& w) noexcept {
  sennit_context marker = reinterpret_cast<sennit_context>(&w.host);
  w.host_identity = current_identity();
  sennit_decision decision = decide_host_leaves(marker, &w);
  while (decision.target != marker) {
    const sennit_transfer transfer = swap(decision.target, decision.value, &w.ready.current->frame->identity);
    const auto* wanted = reinterpret_cast<const request*>(transfer.value);
    decision = wanted->decide(transfer.from, wanted->argument);
  }
}

#else

static void host_leaves(worker& w) noexcept {
  suspend(w, decide_host_leaves, &w);
}

#endif

// The end of a fiber, on its own stack. With a joiner, that one takes its place and is entered at once; the
// fiber is given back by its joiner, or here if nobody refers to it: its stack may be reused, and will not be
// before the switch is over.
[[gnu::always_inline]] static inline void finish(coroutine_frame& frame) noexcept {
  worker& w = *this_worker();
  fiber& self = *reinterpret_cast<fiber*>(frame.mail[0]);
  self.flags.status = fiber_status::finished;
  ++self.epoch;
  --w.live_count;
  if (--w.until_poll != 0 && w.ready.plain() && &self != w.host_waits_for && direct_entry) [[likely]] {
    if (fiber* joiner = self.joiner) {
      awaken(w, *joiner, 0, wake::notified);
      w.ready.replace_running(joiner);
      enter_directly(self, *joiner);
      return;
    }
    if (!self.flags.owned) {
      if (fiber* next = w.ready.step_off()) {
        fiber_give(w, self);
        enter_directly(self, *next);
        return;
      }
    }
  }
  suspend(w, sennit_decide_finish, &w, false);
}

SENNIT_UNSANITIZED void fiber_loop(sennit_context from, std::uintptr_t value, std::uintptr_t, std::uintptr_t,
                                   std::uintptr_t) noexcept {
  auto& frame = *reinterpret_cast<coroutine_frame*>(value);
  entered_new_stack(from);
  this_worker()->host_context = from;
  for (;;) {
    frame.action(frame);
    finish(frame);
  }
}

void host_run(worker& w) noexcept {
  sennit_thread_block* thread = sennit_thread_self();
  assert(thread->worker == nullptr && "sennit: a runtime was run inside of another one's fiber");
  fault_watch_thread();
  w.error_number = &errno;
  thread->worker = &w;
  w.host_wanted = false;
  w.sleeping.store(false, std::memory_order_relaxed);
  host_leaves(w);
  w.sleeping.store(true,
                   std::memory_order_seq_cst);  // the host may wait for our descriptor: posts must wake it
  w.host_wanted = false;
  sennit_thread_self()->worker = nullptr;
}

bool park_until(worker& w, const char* reason, time_point deadline) {
  if (deadline != never)
    w.deadlines.add(w.ready.current, deadline);
  park(w, reason);
  return this_worker()->ready.current->flags.why == wake::notified;
}

void worker_post(worker& w, posted* post) noexcept {
  post->next = w.inbox.load(std::memory_order_relaxed);
  while (!w.inbox.compare_exchange_weak(post->next, post, std::memory_order_seq_cst,
                                        std::memory_order_relaxed)) {
  }
  if (w.sleeping.load(std::memory_order_seq_cst))  // pairs with idle(): it says so, then looks at the inbox
    w.driver->wake();
}

void worker_unwind(worker& w) noexcept {
  w.unwinding = true;
  fiber_for_each(
      w,
      [](void*, fiber& f) {
        // Who became ready by itself is told at its next park or yield: it may have been handed something.
        f.flags.unwind = f.flags.status != fiber_status::parked;
        if (f.flags.unwind)
          return;
        if (f.waits_in != nullptr)
          list_remove(*f.waits_in, f);
        unpark_in_turn(f, wake::unwinding);
      },
      nullptr);
  while (w.live_count > 0) {
    host_run(w);
    if (w.live_count > 0 && w.ready.empty() && w.deadlines.earliest() == never)
      fiber_for_each(
          w,
          [](void*, fiber& f) {
            std::fprintf(stderr,
                         "sennit: a runtime ended while fiber \"%s\" (%s) would not: it caught its "
                         "unwinding, or waits "
                         "in a destructor for something that never comes\n",
                         f.name, f.reason);
            std::abort();
          },
          nullptr);
  }
}

}  // namespace sennit::detail

using namespace sennit::detail;

sennit_worker::sennit_worker(sennit::run_policy policy, std::size_t size)
    : ready(policy), stack_size(stack_class(size)) {
  driver = make_driver(*this);
  stack_memory = stack_take(default_stack_size);
  char* top = stack_memory.high() - 64;
  *reinterpret_cast<sennit_context*>(top) = nullptr;
  stack = top;
}

sennit_worker::~sennit_worker() {
  worker_unwind(*this);
  for (posted* post = inbox.exchange(nullptr); post != nullptr;)
    delete std::exchange(post, post->next);
  while (idle != nullptr) {
    fiber* f = std::exchange(idle, idle->next);
    frame_drop(*std::exchange(f->frame, nullptr));
    fiber_free(f);
  }
  while (spare_frames != nullptr)
    frame_drop(*std::exchange(spare_frames, spare_frames->next));
  stack_give(stack_memory);
}
