// A worker and the thread that runs it: how it is made, entered, left and ended. (For the choice of fibers,
// see worker.cpp.)
#include "sennit/detail/sched/worker.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "sennit/detail/fault/handler.hpp"
#include "sennit/detail/sched/hooks.hpp"
#include "sennit/detail/sched/misuse.hpp"
#include "sennit/detail/sched/spawn.hpp"

namespace sennit::inline v0_1::detail {

namespace {

const stack_record* running_fibers_record() noexcept {
  const worker* const w = this_worker();
  if (w == nullptr || !w->ready.running())
    return nullptr;
  const coroutine_frame* const frame = fiber_frame(*w->ready.current);
  return frame != nullptr ? &frame->record : nullptr;
}

}  // namespace

void bind_thread(worker& w) noexcept {
  if (w.process != process_generation()) [[unlikely]] {
    std::fputs(
        "sennit: a runtime is run in a child of the process that made it; after fork(), the child may only "
        "exec, or make runtimes of its own\n",
        stderr);
    std::abort();
  }
  sennit_thread_block* thread = sennit_thread_self();
  if (thread->worker != nullptr) [[unlikely]] {
    std::fputs(
        "sennit: a runtime was run inside of a fiber; spawn there instead, or run it on another thread\n",
        stderr);
    std::abort();
  }
  w.error_number = &errno;
  w.slice.begin(w);
  thread->worker = &w;
  thread->bias_number = w.bias_number;
  static constinit thread_local int number = 0;
  if (number == 0)
    number = ::gettid();
  w.thread.exchange(number, std::memory_order_seq_cst);  // then look, like the thread that holds workers
  if (world_is_stopped.load(std::memory_order_seq_cst) != 0) [[unlikely]]
    wait_until_resumed();
}

void unbind_thread(worker& w) noexcept {
  w.slice.end();
  w.thread.store(0, std::memory_order_relaxed);
  sennit_thread_self()->worker = nullptr;
  sennit_thread_self()->bias_number = 0;
}

void bind_and_run(worker& w) noexcept {
  bind_thread(w);
  w.main_wanted = false;
  w.inbox.mark_awake();
  run_fibers(w, sennit_dispatch_main);
  w.inbox.mark_asleep();  // the main fiber may poll our descriptor: posts must wake it
  w.main_wanted = false;
  unbind_thread(w);
}

void worker_post(worker& w, posted* post) noexcept {
  if (w.inbox.push(post))
    w.driver->wake();
}

const char* what_it_does(const fiber& f) noexcept {
  if (!f.is_parked())
    return "runs";
  return f.flags.stackless || !f.home->is_local() ? f.site->reason : f.reason;
}

void note_end_begins(worker& w) noexcept {
  w.unwinding = true;
  w.end_is_late_at = clock::now() + late_end;
}

void report_late_end(worker& w) noexcept {
  if (clock::now() < w.end_is_late_at)
    return;
  w.end_is_late_at = never;
  const auto say = [](void*, fiber& f) {
    std::fprintf(
        stderr,
        "sennit: a runtime cannot end yet: fiber \"%s\" (%s) has not: it caught its unwinding (a catch "
        "(...) must rethrow it), or waits or computes on its way out\n",
        fiber_name(f), what_it_does(f));
  };
  for (std::size_t i = 0; const worker* const each = w.operations.worker_at(w, i); ++i)
    fiber_for_each(*each, say, nullptr);
}

void worker_unwind(worker& w) noexcept {
  if (this_worker() == &w)
    fatal_misuse(destroys_its_runtime);
  note_end_begins(w);
  fiber_for_each(
      w,
      [](void*, fiber& f) {
        // Its joiner is unwound, too, and must not be woken any more.
        f.joiner = nullptr;
        // A ready fiber unwinds at its next park or yield: it may have received something.
        f.flags.shutdown = f.is_parked() ? shutdown_state::delivered : shutdown_state::pending;
        if (f.flags.shutdown == shutdown_state::pending)
          return;
        stop_waiting(f);
        unpark_back(f, fiber_status::unwinding);
      },
      nullptr);
  while (fiber_count(w) > 0) {
    bind_and_run(w);
    if (w.ready.empty() && w.refused.all.first == nullptr && w.deadlines.empty() && w.pending_offloads == 0)
      fiber_for_each(w, [](void*, fiber& f) { fiber_would_not_end(f, what_it_does(f)); }, nullptr);
  }
}

}  // namespace sennit::inline v0_1::detail

using namespace sennit::detail;

sennit_worker::sennit_worker(sennit::run_policy policy, stack_shape usual)
    : sennit_worker(policy, usual, local_operations, nullptr, own_limit) {}

sennit_worker::sennit_worker(sennit::run_policy policy, stack_shape usual, const worker_operations& does,
                             parallel_runtime* of, fiber_limit& most)
    : ready(policy), shared(of), operations(does), usual_stack(usual), limit(&most), polling(policy) {
  if (of != nullptr) {
    ready.refuse();
    until_poll = 1;  // C's inline yield, which is of local runtimes, calls out then (capi/yield.h)
  }
  watch_locks();
  fault_running_fiber.store(running_fibers_record, std::memory_order_relaxed);
  fault_must_watch_thread();  // not by the first thread that runs it: when that happens is unknown
  driver = make_driver(*this);
  refused.reserve = &acquire_stack(*this, usual_stack, 0);
  try {
    stack_memory = stack_take(default_stack_size);
  } catch (...) {
    destroy_stack(*refused.reserve);
    throw;
  }
  char* top = stack_memory.high() - 48;
  stack = top;
}

sennit_worker::~sennit_worker() {
  if (process != process_generation())
    return;  // exit() in a child: the fibers and their open resources belong to the parent
  worker_unwind(*this);
  if (local_value* const kept = upcalls.load(std::memory_order_acquire))
    kept->destroy(*kept);
  for (posted* post = inbox.take(); post != nullptr;)
    delete std::exchange(post, post->next);
  for (posted* post = delayed.first; post != nullptr;)
    delete std::exchange(post, post->next);
  while (idle != nullptr) {
    fiber* f = std::exchange(idle, idle->next);
    destroy_stack(*std::exchange(f->frame, nullptr));
    fiber_free(f);
  }
  while (spare_frames != nullptr)
    destroy_stack(*std::exchange(spare_frames, spare_frames->next));
  give_spare_descriptors(spare_descriptors, 0);
  if (refused.reserve != nullptr)
    destroy_stack(*refused.reserve);
  drop_large_stacks(*this);
  stack_give(stack_memory);
}
