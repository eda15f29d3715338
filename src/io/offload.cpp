// The pools of threads that run blocking functions.
#include "sennit/offload.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>

#include "sennit/detail/io/offload_until.hpp"
#include "sennit/detail/wait/wait.hpp"
#include "sennit/stop_guard.hpp"
#include "system/service_thread.hpp"

namespace sennit::inline v0_1 {
namespace detail {

namespace {

constexpr const char* offload_reason = "offload";
constexpr unsigned usual_threads = 64;
constexpr std::chrono::seconds idle_time{10};

struct thread_pool : of_process {
  explicit thread_pool(const char* n) noexcept : name(n) {}

  const char* const name;  // its threads'
  std::mutex lock;
  std::condition_variable work;
  offload_job* first = nullptr;
  offload_job* last = nullptr;
  unsigned queued = 0;
  unsigned threads = 0;
  unsigned idle = 0;  // of them, those that wait for work
  unsigned most = usual_threads;
};

struct call_pool : thread_pool {
  call_pool() noexcept : thread_pool("sennit/offload") {}
};
struct look_up_pool : thread_pool {
  look_up_pool() noexcept : thread_pool("sennit/look_up") {}
};

thread_pool& pool_of(offload_pool which) {
  if (which == offload_pool::look_ups)
    return of_this_process<look_up_pool>();
  return of_this_process<call_pool>();
}

void push(thread_pool& to, offload_job& job) noexcept {
  (to.last != nullptr ? to.last->next_job : to.first) = &job;
  to.last = &job;
  ++to.queued;
}

offload_job& pop(thread_pool& from) noexcept {
  offload_job& job = *from.first;
  from.first = job.next_job;
  if (from.first == nullptr)
    from.last = nullptr;
  --from.queued;
  return job;
}

void remove(thread_pool& from, offload_job& job) noexcept {
  offload_job* before = nullptr;
  for (offload_job* at = from.first; at != &job; at = at->next_job)
    before = at;
  (before != nullptr ? before->next_job : from.first) = job.next_job;
  if (from.last == &job)
    from.last = before;
  --from.queued;
}

void run_one(thread_pool& in, std::unique_lock<std::mutex>& held) noexcept {
  offload_job& job = pop(in);
  job.state = offload_state::running;
  held.unlock();
  job.call();
  held.lock();
  if (job.state == offload_state::abandoned) {
    delete &job;
    return;
  }
  job.state = offload_state::returned;
  if (job.home != nullptr)
    worker_post(*job.home, &job);
  else
    job.run();
}

extern "C" void* sennit_offload_thread(void* pool) {
  thread_pool& mine = *static_cast<thread_pool*>(pool);
  std::unique_lock held(mine.lock);
  for (bool wanted = true; wanted && mine.threads <= mine.most;) {
    if (mine.first != nullptr) {
      run_one(mine, held);
      continue;
    }
    ++mine.idle;
    wanted = mine.work.wait_for(held, idle_time,
                                [&] { return mine.first != nullptr || mine.threads > mine.most; });
    --mine.idle;
  }
  --mine.threads;
  mine.work.notify_one();  // the notification of a job may have come to this thread
  return nullptr;
}

// Under the lock. An errno, or 0.
int start_thread(thread_pool& in) noexcept {
  const int error = start_service_thread(in.name, sennit_offload_thread, &in);
  if (error == 0)
    ++in.threads;
  return error;
}

void start(offload_job& job) {
  if (const int error = offload_begin(job); error != 0)
    throw std::system_error(error, std::generic_category(), "sennit: no thread to offload a call to");
}

struct outcome {
  offload_state state = offload_state::returned;
  std::exception_ptr interruption;  // what the wait threw: the fiber is to leave
};

// Calls `wait`. What it throws (the runtime's end, a stop, the error of a scope's fiber) is kept, and no stop
// ends the waits that follow.
template <class Wait>
void wait_once(outcome& result, Wait wait) {
  std::optional<stop_shield> shield;
  if (result.interruption)
    shield.emplace();
  try {
    wait();
  } catch (...) {
    result.interruption = std::current_exception();
  }
}

outcome wait_for(offload_job& job, bool may_abandon, time_point deadline) {
  worker& w = running_worker();
  job.home = w.is_local() ? &w : nullptr;
  start(job);
  w.operations.count_wakers(w, 1);
  outcome result;
  const auto returns_until = [&](time_point until) {
    wait_once(result, [&] { w.operations.wait_in_slot(job.done, 0, 0, offload_reason, until); });
    return job.done.load(std::memory_order_acquire) != 0;
  };
  if (!returns_until(deadline))
    result.state = offload_give_up(job, may_abandon);
  if (result.state == offload_state::running || result.state == offload_state::returned) {
    while (job.done.load(std::memory_order_acquire) == 0)
      returns_until(never);
    result.state = offload_state::returned;
    offload_let_go(job);
  }
  w.operations.count_wakers(w, -1);
  return result;
}

}  // namespace

bool offload_job::run() {
  if (const std::uintptr_t waits = done.exchange(1, std::memory_order_acq_rel); waits != 0)
    wake_in_slot(waits);
  return true;
}

int offload_begin(offload_job& job) noexcept try {
  thread_pool& to = pool_of(job.pool);
  std::lock_guard hold(to.lock);
  if (to.queued >= to.idle && to.threads < to.most)
    if (const int error = start_thread(to); error != 0 && to.threads == 0)
      return error;
  push(to, job);
  to.work.notify_one();
  return 0;
} catch (const std::bad_alloc&) {  // a forked child makes a pool of its own
  return ENOMEM;
}

offload_state offload_give_up(offload_job& job, bool may_abandon) noexcept {
  thread_pool& from = pool_of(job.pool);
  std::lock_guard hold(from.lock);
  if (job.state == offload_state::queued) {
    remove(from, job);
    job.state = offload_state::withdrawn;
  } else if (job.state == offload_state::running && may_abandon) {
    job.state = offload_state::abandoned;
  }
  return job.state;
}

void offload_await(offload_job& job) noexcept {
  outcome ignored;
  while (job.done.load(std::memory_order_acquire) == 0)
    wait_once(ignored,
              [&] { running_worker().operations.wait_in_slot(job.done, 0, 0, offload_reason, never); });
}

void offload_let_go(offload_job& job) noexcept {
  if (job.home != nullptr)
    const std::lock_guard who_posted_it_has_let_go(pool_of(job.pool).lock);
}

bool in_fiber() noexcept {
  const worker* w = this_worker();
  return w != nullptr && w->ready.running();
}

void offload_run(offload_job& job) {
  if (const outcome result = wait_for(job, false, never); result.interruption)
    std::rethrow_exception(result.interruption);
}

bool offload_run_until(std::unique_ptr<offload_job>& job, time_point deadline) {
  const outcome result = wait_for(*job, true, deadline);
  if (result.state == offload_state::abandoned)
    static_cast<void>(job.release());
  if (result.interruption)
    std::rethrow_exception(result.interruption);
  return result.state == offload_state::returned;
}

}  // namespace detail

unsigned offload_threads() noexcept {
  detail::thread_pool& calls = detail::pool_of(detail::offload_pool::calls);
  std::lock_guard hold(calls.lock);
  return calls.most;
}

void set_offload_threads(unsigned most) noexcept {
  for (const auto which : {detail::offload_pool::calls, detail::offload_pool::look_ups}) {
    detail::thread_pool& pool = detail::pool_of(which);
    std::lock_guard hold(pool.lock);
    pool.most = std::max(most, 1u);
    pool.work.notify_all();
  }
}

}  // namespace sennit::inline v0_1
