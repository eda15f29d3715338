// How a fiber gets its first stack, and what happens if there is none.
#include "sennit/detail/sched/first_round.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

#include "sennit/detail/sched/spawn.hpp"

namespace sennit::inline v0_1::detail {

fiber& first_make(worker& home, std::size_t size) {
  fiber& f = *fiber_make(home);
  if (home.is_local())
    ++home.idle_stacks.made;  // its stack will be idle when it has ended
  f.overflow = nullptr;
  try {
    if (size != 0)
      f.overflow = continuation_overflow::make(size);
  } catch (...) {
    fiber_free(&f);
    throw;
  }
  return f;
}

void first_drop(fiber& f) noexcept {
  if (f.overflow != nullptr)
    continuation_overflow::destroy(f.overflow);
  f.frame = nullptr;
  f.name[0] = 0;
  fiber_free(&f);
}

// A local runtime's fiber that has ended gives up its stack if a handle refers to it. In a parallel runtime,
// only those do that are marked.
void first_attach(fiber& f, coroutine_frame& frame) noexcept {
  stack_attach(f, frame, nullptr);
  f.error = nullptr;
  if (f.home->is_local())
    f.flags.slow_path &= static_cast<std::uint8_t>(~needs_slow_path);
}

namespace {

// Returns null if there is no memory.
coroutine_frame* try_acquire_stack(worker& w, stack_shape stack, std::size_t leave) noexcept {
  try {
    return &acquire_stack(w, stack, leave);
  } catch (const std::exception&) {
    return nullptr;
  }
}

void retry_one(worker& w) noexcept {
  if (fiber* const next = w.refused.all.pop())
    w.operations.requeue(w, *next);
}

// Keeps the running fiber, which was refused, and chooses another one.
sennit_decision wait_for_stack(sennit_context, void* argument) {
  worker& w = *static_cast<worker*>(argument);
  fiber& f = *w.ready.current;
  if (w.is_local())
    w.ready.remove_running();
  else
    w.ready.current = nullptr;
  if (f.flags.status == fiber_status::begins)
    f.flags.status = fiber_status::notified;  // it is queued no more, as by run_queue
  refused_fibers& refused = w.refused;
  refused.tries = w.operations.may_free_stack(w) ? 0 : refused.tries + 1;
  if (refused.all.first == nullptr)
    refused.next_try = clock::now() + refused_fibers::pause;
  refused.all(&f);
  return w.operations.next(w);
}

// The only round on a worker's reserve, until a fiber fails there.
sennit_decision refused_round(void*) noexcept {
  worker& w = *this_worker();
  suspend(w, wait_for_stack, &w, false);
  __builtin_unreachable();
}

}  // namespace

void retry_refused(worker& w) noexcept {
  refused_fibers& refused = w.refused;
  if (refused.all.first == nullptr || (clock::now() < refused.next_try && !w.unwinding))
    return;
  refused.next_try = clock::now() + refused_fibers::pause;
  retry_one(w);
}

namespace {

bool may_give_up(const worker& w) noexcept {
  return w.unwinding || w.refused.tries > refused_fibers::most_tries;
}

// A fiber that resumes may have been given a lock, or a value, which would be lost.
[[noreturn, gnu::cold]] void no_stack() noexcept {
  std::fputs(
      "sennit: there is no memory for the stack of a fiber that resumes without one, and no fiber of its "
      "runtime can free one\n",
      stderr);
  std::abort();
}

// The fiber is entered on the reserve, where it leaves its function unused.
coroutine_frame* give_up(worker& w, fiber& f) noexcept {
  if (!w.unwinding) {
    if (f.flags.stackless == gave_up_stack)
      no_stack();
    f.flags.shutdown = shutdown_state::no_stack;
  }
  retry_one(w);
  return std::exchange(w.refused.reserve, nullptr);
}

// The last resort: the reserve is in use, by a fiber that failed and still ends.
coroutine_frame& await_stack(worker& w) noexcept {
  for (unsigned tries = 0;; ++tries) {
    if (coroutine_frame* const frame = try_acquire_stack(w, w.usual_stack, 0))
      return *frame;
    if (tries == refused_fibers::most_tries)
      no_stack();
    std::this_thread::sleep_for(refused_fibers::pause);
  }
}

}  // namespace

sennit_decision stack_for(worker& w, fiber& f) noexcept {
  refused_fibers& refused = w.refused;
  const bool begins = f.flags.stackless == not_begun;
  if (refused.reserve == nullptr) [[unlikely]]
    refused.reserve = try_acquire_stack(w, w.usual_stack, 0);
  coroutine_frame* frame = try_acquire_stack(w, stack_shape_of(w, f), begins ? 1 : 0);
  if (frame == nullptr) [[unlikely]] {
    if (may_give_up(w))
      frame = give_up(w, f);
  } else if (refused.all.first != nullptr) [[unlikely]] {
    refused.tries = 0;
    retry_one(w);
  }
  if (frame != nullptr) [[likely]] {
    frame->round = begins ? first_code_of(f).round : w.operations.resumed;
    return entering_round(w, *frame);
  }
  if constexpr (!direct_entry)  // we are in a scheduler step
    return wait_for_stack(nullptr, &w);
  if (refused.reserve == nullptr)
    refused.reserve = &await_stack(w);
  refused.reserve->round = refused_round;
  return {refused.reserve->context, 0};
}

void fail_for_lack_of_stack(fiber& f) noexcept {
  try {
    throw std::system_error(ENOMEM, std::generic_category(),
                            "sennit: there is no memory for the stack of a fiber that was spawned, and no "
                            "fiber of its runtime can free one");
  } catch (...) {
    fiber_fail(f);
  }
}

}  // namespace sennit::inline v0_1::detail
