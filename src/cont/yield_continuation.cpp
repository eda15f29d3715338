// Yields that do not return: the frames are unwound, and the fiber continues with the continuation that it
// has set.
#include <exception>
#include <utility>

#include "discard.hpp"
#include "sennit/detail/wait/stop.hpp"

namespace sennit::inline v0_1::detail {

namespace {

// Returns the link that points to it, or the last link.
local_value** link_of_yield_continuation(const fiber& self) noexcept {
  local_value** link = &self.frame->own.locals;
  while (*link != nullptr && (*link)->key != yield_continuation::its_key)
    link = &(*link)->next;
  return link;
}

}  // namespace

void body_unwound(coroutine_frame& frame, fiber& self, body_destroyer destroy) noexcept {
  self.flags.slow_path |= needs_slow_path;
  // Frames may have been given up whose destructors would have reset these.
  frame.record.hook = nullptr;
  frame.no_yield = 0;
  if ((self.flags.slow_path & has_yield_continuation) == 0)
    return;
  function_left(self);
  auto& by = static_cast<yield_continuation&>(**link_of_yield_continuation(self));
  if (!by.left_by || self.home->unwinding)
    return;
  continuation next = std::move(by.left_by);
  continuation_access::keep(next, self);  // needs no memory: copies the values again, which may be new
  leave_unwound(frame, destroy, std::move(next));
}

continuation continuation_of_yield(const fiber& self) {
  return static_cast<yield_continuation&>(**link_of_yield_continuation(self)).make();
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
  auto& by = static_cast<yield_continuation&>(**link_of_yield_continuation(self));
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
  local_value** const link = link_of_yield_continuation(self);
  if (local_value* const set = *link) {
    *link = set->next;
    set->destroy(*set);
  }
}

}  // namespace sennit::inline v0_1::detail
