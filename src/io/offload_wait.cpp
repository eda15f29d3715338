// How a fiber without a stack waits for an offloaded call.
#include "sennit/detail/io/offload_wait.hpp"

#include <cerrno>

#include "sennit/detail/wait/slot.hpp"

namespace sennit::inline v0_1::detail {

bool offload_wait::file(fiber& f, waiter& me) noexcept {
  worker& w = *this_worker();
  offload_job& job = *job_;
  const bool local = w.is_local();
  job.home = local ? &w : nullptr;
  error_ = -offload_begin(job);
  if (error_ != 0)
    return false;
  begun_ = true;
  w.operations.count_wakers(w, 1);
  if (local) {  // the job returns on this thread, as a post
    f.flags.status = fiber_status::parked;
    job.done.store(reinterpret_cast<std::uintptr_t>(&me) + local_waiter, std::memory_order_relaxed);
    return true;
  }
  std::uintptr_t not_yet = 0;
  return slot_enter(job.done, not_yet, reinterpret_cast<std::uintptr_t>(&me));  // true: this may be gone
}

bool offload_wait::leave(waiter& me) noexcept {
  const bool left = slot_leave(
      job_->done, 0, reinterpret_cast<std::uintptr_t>(&me) + (job_->home != nullptr ? local_waiter : 0));
  if (!left)
    wait_for_release(me);
  return left;
}

int offload_wait::finish() noexcept {
  if (!std::exchange(begun_, false))
    return error_;
  worker& w = *this_worker();
  offload_job& job = *job_;
  offload_state state = offload_state::returned;
  if (job.done.load(std::memory_order_acquire) != 1) {
    if (job.home != nullptr)
      job.done.store(0, std::memory_order_relaxed);  // where its runtime ends
    state = offload_give_up(job, owner_ != nullptr);
  }
  if (state == offload_state::abandoned) {
    static_cast<void>(owner_->release());
  } else if (state != offload_state::withdrawn) {
    offload_await(job);
    state = offload_state::returned;
    offload_let_go(job);
  }
  w.operations.count_wakers(w, -1);
  return state == offload_state::returned ? 0 : -ETIMEDOUT;
}

}  // namespace sennit::inline v0_1::detail
