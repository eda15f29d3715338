// Yields that do not return: the frames are unwound, and the fiber continues with the continuation that it
// has set.
#include <exception>
#include <utility>

#include "discard.hpp"
#include "sennit/detail/wait/stop.hpp"

namespace sennit::inline v0_1::detail {

namespace {

yield_continuation& of(const fiber& self) noexcept {
  return static_cast<yield_continuation&>(
      **find_local(self.frame->own.locals, local_key::yield_continuation));
}

}  // namespace

void body_unwound(coroutine_frame& frame, fiber& self, body_destroyer destroy) noexcept {
  self.flags.slow_path |= needs_slow_path;
  // Frames may have been given up whose destructors would have reset these.
  frame.record.hook = nullptr;
  frame.record.guards = 0;
  frame.no_yield = 0;
  clear_local(frame.own.locals, local_key::restart);
  if ((self.flags.slow_path & has_yield_continuation) == 0)
    return;
  function_left(self);
  yield_continuation& by = of(self);
  if (!by.left_by || self.home->unwinding)
    return;
  continuation next = std::move(by.left_by);
  continuation_access::keep(next, self);  // needs no memory: copies the values again, which may be new
  leave_unwound(frame, destroy, std::move(next));
}

continuation continuation_of_yield(const fiber& self) {
  return of(self).make();
}

void finish_interrupted_yield(std::uintptr_t word) {
  fiber& self = *running_worker().ready.current;
  if (word != resume_via_continuation)
    throw_forced_unwind();
  if (std::uncaught_exceptions() != 0 || stop_link::is_shielded()) {
    self.flags.slow_path &= static_cast<std::uint8_t>(~has_yield_continuation);
    yield_polling();
    self.flags.slow_path |= has_yield_continuation;
    return;
  }
  yield_continuation& by = of(self);
  by.left_by = by.make();
  continuation_access::keep_values(by.left_by, self);
  throw_forced_unwind();
}

void set_yield_continuation(yield_continuation* made) noexcept {
  fiber& self = *running_worker().ready.current;
  clear_yield_continuation("set_yield_continuation");
  made->next = std::exchange(self.frame->own.locals, made);
  self.flags.slow_path |= has_yield_continuation;
}

void forget_yield_continuation() noexcept {
  worker* const w = this_worker();
  if (w != nullptr && w->ready.running())
    w->ready.current->flags.slow_path &= static_cast<std::uint8_t>(~has_yield_continuation);
}

void clear_yield_continuation(const char* what) noexcept {
  const fiber& self = *running_worker_for(what).ready.current;
  forget_yield_continuation();
  clear_local(self.frame->own.locals, local_key::yield_continuation);
}

}  // namespace sennit::inline v0_1::detail
