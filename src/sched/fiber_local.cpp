// Fiber-local values: a list in the frame of each fiber that has any.
#include "sennit/fiber_local.hpp"

#include <atomic>

#include "sennit/detail/sched/spawn.hpp"

namespace sennit::detail {

namespace {

void destroy_all(local_value*& values) noexcept {
  while (local_value* newest = values) {
    values = newest->next;
    newest->destroy(*newest);
  }
}

struct thread_values {
  ~thread_values() { destroy_all(first); }
  local_value* first = nullptr;
};

}  // namespace

std::uint64_t next_local_key() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

local_value*& local_values() noexcept {
  const worker* const w = this_worker();
  if (w != nullptr && w->ready.running())
    if (coroutine_frame* const frame = fiber_frame(*w->ready.current))
      return frame->own.locals;
  static thread_local thread_values of_thread;
  return of_thread.first;
}

void end_fiber_locals() noexcept {
  forget_yield_continuation();
  destroy_all(local_values());
}

void destroy_locals(coroutine_frame& frame) noexcept {
  forget_yield_continuation();
  const error_aside meanwhile(current_fiber());
  destroy_all(frame.own.locals);
}

}  // namespace sennit::detail
