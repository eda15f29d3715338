// A parallel runtime as a whole: its threads, the fibers that come from outside, and its end.
#include <pthread.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "sennit/detail/fault/handler.hpp"
#include "sennit/detail/parallel/idling.hpp"
#include "sennit/detail/parallel/worker_inline.hpp"
#include "sennit/detail/sched/misuse.hpp"

namespace sennit::inline v0_1::detail {

namespace {

void inject_one(parallel_runtime& into, fiber& f) noexcept {
  fiber_chain one;
  one(&f);
  into.inject(one);
}

// Through this, a runtime's constructor learns about its threads.
struct beginning {
  std::atomic<unsigned> begun{0};
  std::atomic<int> error{0};
};

void run_worker(parallel_worker& w, beginning& report) noexcept {
  char name[16];
  std::snprintf(name, sizeof name, "sennit/%u", w.index);
  ::pthread_setname_np(::pthread_self(), name);
  const int error = fault_watch_thread();
  if (error != 0)
    report.error.store(error, std::memory_order_relaxed);
  // The last access: the constructor may have returned after that.
  report.begun.fetch_add(1, std::memory_order_release);
  if (error != 0)
    return;
  bind_thread(w);
  w.arrivals.mark_awake();  // it may find work, and not sleep for long
  run_fibers(w, sennit_dispatch_parallel_main);
  unbind_thread(w);
}

// Shares the half that was used longest ago: all after the first idle_limit / 2.
void share_idle(parallel_worker& w) noexcept {
  fiber* last = w.idle;
  while (last->id > idle_limit / 2 + 1)
    last = last->next;
  fiber* const shared = std::exchange(last->next, nullptr);
  std::uint32_t depth = last->id - 1;
  for (fiber* f = w.idle; f != nullptr; f = f->next)
    f->id -= depth;
  fiber* end = shared;
  while (end->next != nullptr)
    end = end->next;
  const lock_holder hold(w.runtime.spare_lock);
  end->next = std::exchange(w.runtime.spare, shared);
}

void give_to_all(parallel_runtime& of, fiber& f) noexcept {
  const lock_holder hold(of.spare_lock);
  f.next = std::exchange(of.spare, &f);
}

void destroy(fiber& f) noexcept {
  if (coroutine_frame* frame = std::exchange(f.frame, nullptr))
    destroy_stack(*frame);
  fiber_free(&f);
}

void destroy_all(fiber* list) noexcept {
  while (list != nullptr)
    destroy(*std::exchange(list, list->next));
}

// Takes a batch of the shared ones.
fiber* take_shared(parallel_runtime& of, parallel_worker* w) noexcept {
  const lock_holder hold(of.spare_lock);
  fiber* const first = of.spare;
  if (first == nullptr)
    return nullptr;
  of.spare = first->next;
  of.idle_stacks.taken = true;
  if (w != nullptr)
    for (std::uint32_t depth = 1; depth <= idle_limit / 8 && of.spare != nullptr; ++depth) {
      fiber* f = std::exchange(of.spare, of.spare->next);
      f->id = depth;
      f->next = std::exchange(w->idle, f);
    }
  return first;
}

// The numbers by which objects know the worker towards which they are biased. No two workers that exist have
// the same one.
class bias_numbers {
public:
  // Returns 0 if all are taken.
  static std::uint16_t take() noexcept {
    const std::lock_guard hold(lock_);
    for (std::size_t i = 0; i < std::size(taken_); ++i)
      if (const auto bit = static_cast<unsigned>(std::countr_one(taken_[i])); bit < 64) {
        taken_[i] |= std::uint64_t{1} << bit;
        return static_cast<std::uint16_t>(i * 64 + bit + 1);
      }
    return 0;
  }
  static void give_back(std::uint16_t number) noexcept {
    const std::lock_guard hold(lock_);
    if (number != 0)
      taken_[(number - 1) / 64] &= ~(std::uint64_t{1} << (number - 1) % 64);
  }

private:
  static constinit inline spin_lock lock_;
  static constinit inline std::uint64_t taken_[most_bias_numbers / 64]{};
};

}  // namespace

struct worker_threads {
  std::vector<std::thread> all;
};
void destroy_owned(worker_threads* object) noexcept {
  delete object;
}

worker_list::~worker_list() {
  for (parallel_worker* each : *this)
    delete each;
}

dispatching::dispatching(run_policy policy, bool forces_migration)
    : dispatches(forces_migration ? 1
                                  : poll_interval),  // 1: no direct entry, scheduler steps make every switch
      next_slot_left(policy == run_policy::hybrid ? hybrid_adds : next_slot_budget),
      direct(!forces_migration && native_memory::prepare()),
      plain(policy == run_policy::fifo && direct) {}

parallel_worker::parallel_worker(parallel_runtime& of, unsigned number, run_policy how, stack_shape usual)
    : sennit_worker(how, usual, parallel_operations, &of, of.limit),
      dispatching(how, of.forces_migration),
      policy(how),
      runtime(of),
      index(number),
      random(2463534242u + number) {
  parallel = this;
  if (native_memory::prepare_free_fence())
    bias_number = bias_numbers::take();
}

parallel_worker::~parallel_worker() {
  bias_numbers::give_back(bias_number);
}

parallel_runtime::parallel_runtime(unsigned count, run_policy policy, stack_shape usual,
                                   const watchdog_options& watched_for, clock::duration time_slice,
                                   std::size_t max_fibers)
    : limit{max_fibers}, usual_stack(usual), watchdog(watched_for) {
  if (count == 0 || count > sleepers<>::most_workers)
    throw std::system_error(EINVAL, std::generic_category(),
                            "sennit: a runtime has 1 to 64 workers, not " + std::to_string(count));
  native_memory::prepare();
  for (unsigned i = 0; i < count; ++i) {
    workers.add(new parallel_worker(*this, i, policy, usual_stack));
    workers[i]->slice.set_length(time_slice);
  }
  beginning report;
  const auto await = [&] {
    while (report.begun.load(std::memory_order_acquire) != threads->all.size())
      native_memory::yield_thread();
  };
  threads = owner<worker_threads>(new worker_threads);
  threads->all.reserve(count);
  try {
    for (const auto& each : workers)
      threads->all.emplace_back(run_worker, std::ref(*each), std::ref(report));
  } catch (...) {
    await();
    stop();
    throw;
  }
  await();
  if (const int error = report.error.load(std::memory_order_relaxed); error != 0) {
    stop();
    throw std::system_error(error, std::generic_category(),
                            "sennit: no alternate signal stack for a worker's thread");
  }
}

parallel_runtime::~parallel_runtime() {
  if (this_worker() != nullptr && this_worker()->shared == this)
    fatal_misuse(destroys_its_runtime);
  if (workers.front()->process != process_generation()) {  // exit() in a child: all belongs to the parent
    // Threads that do not exist can be neither joined nor detached, and so not destroyed.
    static auto* const parents = new std::vector<std::thread>;
    for (std::thread& each : threads->all)
      parents->push_back(std::move(each));
    return;
  }
  stop();
  unwind();
  while (external_wakers.load(std::memory_order_acquire) != 0)
    native_memory::yield_thread();
  for (const auto& each : workers)
    destroy_all(std::exchange(each->idle, nullptr));
  destroy_all(spare);
}

void parallel_runtime::inject(const fiber_chain& ready) noexcept {
  put_injected(*this, ready);
}

void parallel_runtime::stop() noexcept {
  stopping.store(true, std::memory_order_release);
  for (const auto& each : workers)
    each->driver->wake();
  for (std::thread& each : threads->all)
    each.join();
  threads->all.clear();
}

std::size_t parallel_runtime::fibers() const noexcept {
  std::size_t count = 0;
  for (const auto& each : workers)
    count += fiber_count(*each);
  return count;
}

// The threads have ended. Unwinds the remaining fibers, on one worker and the calling thread.
void parallel_runtime::unwind() noexcept {
  parallel_worker& w = *workers.front();
  fiber_chain left;
  for (const auto& each : workers) {
    note_end_begins(*each);
    while (fiber* f = each->ring.take_next_slot())
      left(f);
    while (fiber* f = each->ring.pop())
      left(f);
    for (fiber* next = each->arrivals.take(); next != nullptr;)
      left(std::exchange(next, next->next));
    left.splice(std::exchange(each->refused.all, {}));
    fiber_for_each(
        *each,
        [](void* all, fiber& f) {
          const bool parked = parallel_is_parked(f) && f.site->withdraw(*f.site, f);
          f.flags.shutdown = parked ? shutdown_state::delivered : shutdown_state::pending;
          if (parked) {
            f.flags.status = fiber_status::unwinding;
            (*static_cast<fiber_chain*>(all))(&f);
          }
        },
        &left);
  }
  inject(left);
  w.dispatches.restart(1);
  if (fibers() == 0)
    return;
  bind_thread(w);
  run_fibers(w, sennit_dispatch_parallel_main);
  unbind_thread(w);
  for (const auto& each : workers)
    fiber_for_each(
        *each, [](void*, fiber& f) { fiber_would_not_end(f, f.is_parked() ? f.site->reason : "lost"); },
        nullptr);
}

void parallel_wake_one(parallel_runtime& of) noexcept {
  wake_unless_searched(of);
}

void parallel_send(parallel_worker& to, fiber& f) noexcept {
  if (to.unwinding)  // one worker runs the rest
    return inject_one(to.runtime, f);
  to.runtime.external_wakers.fetch_add(1, std::memory_order_relaxed);
  if (to.arrivals.push(&f))
    to.driver->wake();
  to.runtime.external_wakers.fetch_sub(1, std::memory_order_release);
}

void parallel_move_to(std::uint16_t bias_number) {
  parallel_worker* const w = this_parallel();
  if (w == nullptr || w->unwinding || w->ready.current->flags.kind != waiter_kind::fiber)
    return;
  for (const auto& each : w->runtime.workers)
    if (each->bias_number == bias_number) {
      wait_site site("move to a worker", [](wait_site&, fiber&) noexcept { return false; });
      parallel_block(*w, site, [to = each](fiber& self) {
        set_ready(self, fiber_status::notified);
        parallel_send(*to, self);
        return true;
      });
      return;
    }
}

namespace {

void migrate(const parallel_worker& last, fiber& f) noexcept {
  const auto& all = last.runtime.workers;
  parallel_worker& next = *all[(last.index + 1) % all.size()];
  f.home = &next;
  parallel_send(next, f);
}

}  // namespace

[[noreturn]] static void die_in_child() noexcept {
  std::fputs(
      "sennit: a runtime is used in a child of the process that made it, where it has no threads; after "
      "fork(), the child may only exec, or make runtimes of its own\n",
      stderr);
  std::abort();
}

// The runtime cannot end while it has external wakers: the fiber may be its last one, and run at once.
void parallel_inject(fiber& f) noexcept {
  auto& home = static_cast<parallel_worker&>(*f.home);
  parallel_runtime& of = home.runtime;
  if (home.process != process_generation()) [[unlikely]]
    die_in_child();
  if (f.flags.kind == waiter_kind::pinned_fiber && !home.unwinding)
    return this_worker() == &home ? parallel_push_woken(home, f) : parallel_send(home, f);
  if (f.flags.kind == waiter_kind::migrating_fiber && !home.unwinding)
    return migrate(home, f);
  of.external_wakers.fetch_add(1, std::memory_order_relaxed);
  inject_one(of, f);
  wake_a_sleeper(of);
  of.external_wakers.fetch_sub(1, std::memory_order_release);
}

fiber* parallel_allocate_fiber_slow(parallel_runtime& of, parallel_worker* w, std::size_t size,
                                    std::byte* memory, std::size_t guard, bool may_begin_later) {
  parallel_worker& home = w != nullptr ? *w : *of.workers.front();
  const stack_source source({size, memory, guard}, of.usual_stack);
  if (source.shape == of.usual_stack) {
    if (w != nullptr && w->idle != nullptr)
      return std::exchange(w->idle, w->idle->next);
    fiber_must_be_below_limit(home);
    if (fiber* f = take_shared(of, w)) {
      f->home = &home;
      return f;
    }
    if (may_begin_later)
      return nullptr;
  }
  return fiber_make_with_stack(home, source);
}

void parallel_recycle(fiber& f) noexcept {
  parallel_runtime& of = *f.home->shared;
  if (f.frame != nullptr)
    stack_user_ended(f.frame->record);
  f.name[0] = 0;
  if (f.frame == nullptr)
    return fiber_free(&f);
  if (f.frame->record.memory.shape != of.usual_stack)
    return destroy(f);
  parallel_worker* w = this_parallel();
  if (w == nullptr || &w->runtime != &of)
    return give_to_all(of, f);
  cache_idle(*w, f);
  if (f.id > idle_limit)
    share_idle(*w);
}

}  // namespace sennit::inline v0_1::detail
