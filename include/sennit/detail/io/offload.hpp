// Jobs for the two pools of threads that run blocking functions. Name look-ups have a pool of their own: a
// resolver that gets no answer blocks a thread for many seconds, and files must not wait for that.
//
//   queued -> running -> returned     `done` follows; in a local runtime, by a post to its worker
//      |         +-> abandoned        its fiber has gone; the pool deletes it when it returns
//      +-> withdrawn                  never called
//
// For a local runtime, a job returns as a post to its worker. The poster holds the pool's lock meanwhile. A
// fiber that has seen its job takes that lock once before it continues: then no pool thread accesses the
// worker, which may end.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>

#include "sennit/detail/sched/worker.hpp"

namespace sennit::inline v0_1::detail {

enum class offload_pool : std::uint8_t { calls, look_ups };
enum class offload_state : std::uint8_t { queued, running, returned, abandoned, withdrawn };

struct offload_job : posted {
  explicit offload_job(offload_pool p = offload_pool::calls) noexcept : pool(p) {}
  virtual void call() noexcept = 0;  // on a thread of the pool
  bool run() final;                  // wakes the fiber: in a local runtime, on the worker's thread

  const offload_pool pool;
  offload_job* next_job = nullptr;              // in the queue
  offload_state state = offload_state::queued;  // under the pool's lock
  worker* home = nullptr;                       // of a local runtime, or null
  std::atomic<std::uintptr_t> done{0};          // the waiter, or 1 when the job has returned
};

inline void destroy_owned(offload_job* job) noexcept {
  delete job;
}

bool in_fiber() noexcept;

// A part of the waits for a job. Returns 0, or the errno if no thread can be started, or there is no memory.
int offload_begin(offload_job& job) noexcept;
// Takes a job from its pool, if that is possible. Only a job that its owner has allocated may be abandoned.
offload_state offload_give_up(offload_job& job, bool may_abandon) noexcept;
// Blocks the calling fiber until a job that runs, or has returned, is done with. Ignores the runtime's end.
void offload_await(offload_job& job) noexcept;
// After that: no thread of the pool uses the job or the worker any more.
void offload_let_go(offload_job& job) noexcept;

// Blocks the calling fiber until the pool has called `job`. Throws std::system_error when there is no thread
// and none can be started; and forced unwind, but not before the call has returned or was withdrawn.
void offload_run(offload_job& job);

// Has the pool call `function` while the calling fiber waits, and throws here what that threw there.
template <class Function>
void offload_in_place(Function&& function) {
  struct in_place final : offload_job {
    explicit in_place(Function& f) : what(f) {}
    void call() noexcept override {
      try {
        what();
      } catch (...) {
        error = std::current_exception();
      }
    }
    Function& what;
    std::exception_ptr error;
  };
  in_place job(function);
  offload_run(job);
  if (job.error)
    std::rethrow_exception(std::move(job.error));
}

}  // namespace sennit::inline v0_1::detail
