// Fiber-local values: a list in the frame of each fiber that has any.
#include "sennit/fiber_local.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

#include "sennit/detail/arch/thread_end.hpp"
#include "sennit/detail/sched/spawn.hpp"

namespace sennit::inline v0_1::detail {

namespace {

void destroy_all(local_value*& values) noexcept {
  while (local_value* newest = values) {
    values = newest->next;
    newest->destroy(*newest);
  }
}

constinit thread_local local_value* values_of_thread = nullptr;

constinit thread_end values_end([](void* values) { destroy_all(*static_cast<local_value**>(values)); });

// Registers the values for destruction when the thread ends, or when it ends the process. Called at first
// use.
[[gnu::noinline]] void watch_thread() {
  static const bool at_exit = std::atexit([] { destroy_all(values_of_thread); }) == 0;
  if (!at_exit || values_end.arm(&values_of_thread) != 0)
    throw std::bad_alloc();
}

}  // namespace

std::uint64_t next_local_key() noexcept {
  static std::atomic<std::uint64_t> next{local_key::first_of_users};
  return next.fetch_add(1, std::memory_order_relaxed);
}

local_value*& local_values() {
  const worker* const w = this_worker();
  if (w != nullptr && w->ready.running())
    if (coroutine_frame* const frame = fiber_frame(*w->ready.current))
      return frame->own.locals;
  if (values_of_thread == nullptr)
    watch_thread();
  return values_of_thread;
}

void end_fiber_locals() noexcept {
  forget_yield_continuation();
  destroy_all(local_values());
}

void destroy_locals(coroutine_frame& frame) noexcept {
  forget_yield_continuation();
  const saved_error meanwhile(current_fiber());
  destroy_all(frame.own.locals);
}

}  // namespace sennit::inline v0_1::detail
