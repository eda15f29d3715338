// Leaves a fiber's frames in the middle, permanently: the fiber ends, or continues elsewhere.
//
// A fiber's function object is in its frame, and only its round knows the type. So the round begins once
// more, deep on the stack, as if the fiber must not begin: it destroys the object, and calls nothing.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "discard.hpp"
#include "sennit/detail/fault/backtrace.hpp"
#include "sennit/detail/fault/unwind.hpp"
#include "sennit/detail/parallel/worker_inline.hpp"
#include "sennit/detail/sched/frame_cleanup.hpp"
#include "sennit/detail/wait/stop.hpp"

namespace sennit::inline v0_1::detail {

namespace {

// The frames are discarded without destructors. So their cleanups run for other fibers, and the records of
// guards, shields, exceptions, control state and fault handlers are reset.
void forget_frames_of(const fiber& self, coroutine_frame& frame) noexcept {
  if (frame.cleanups != nullptr || self.flags.stoppable) [[unlikely]]
    give_up_all_frames();
  frame.record.hook = nullptr;
  frame.record.guards = 0;
  frame.no_yield = 0;
  sennit_slow_state_discard();
}

// The first round on a stack whose frames were left. The continuation is the payload, and stays there until
// the fiber has left.
sennit_decision round_of_left(void* top) noexcept {
  auto& frame = *static_cast<coroutine_frame*>(top);
  auto& next = payload_get<continuation>(frame);
  if constexpr (!direct_entry)
    return round_ended(frame, next);
  worker& w = *this_worker();
  return w.operations.leave_stack(w, frame, next);
}

#if defined(SENNIT_SANITIZED)
sennit_decision dispatch_base(sennit_context, void* left) noexcept {
  auto& frame = *static_cast<coroutine_frame*>(left);
  frame.active_identity = &frame.identity;
  forget_frames(frame.record.memory.low, frame.record.memory.size);
  frame_restart(frame);
  return {frame.context, reinterpret_cast<std::uintptr_t>(&frame)};
}
#endif

// Starts again at the first frame, with the payload, a continuation.
[[noreturn]] void go_to_base(coroutine_frame& frame) noexcept {
  frame.round = round_of_left;
#if defined(SENNIT_SANITIZED)
  suspend(*this_worker(), dispatch_base, &frame, false);
  __builtin_unreachable();
#else
  sennit_leave(sennit_newrounds(&frame), 0);
#endif
}

[[noreturn]] void go_to_base(coroutine_frame& frame, continuation&& next) noexcept {
  ::new (static_cast<void*>(frame.payload)) continuation(std::move(next));
  go_to_base(frame);
}

// leave_frames passes this to leave_body by frame.error, which a fiber does not use otherwise.
struct leaving {
  continuation next;
  shutdown_state shutdown;
};

// Returns whether its function object is gone already: it has continued without one.
bool has_no_body(const coroutine_frame& frame) noexcept {
  return frame.round == thread_continue || frame.round == parallel_thread_continue ||
         frame.round == round_of_left;
}

// ---- Reports about fibers that may not leave their frames.

struct refusal {
  const char* what = nullptr;
  const fiber* who = nullptr;
  const char* why = nullptr;  // null: the frames may be left
  std::uintptr_t at = 0;      // an address in the code to report, or 0
};

void say(const refusal& no) noexcept {
  try {
    std::string text =
        std::string("sennit: ") + no.what + ": fiber \"" + fiber_name(*no.who) + "\" " + no.why;
    if (no.at != 0)
      describe_address(text, no.at);
    std::fprintf(stderr, "%s\n", text.c_str());
  } catch (const std::exception&) {
    std::fprintf(stderr, "sennit: %s: a fiber %s\n", no.what, no.why);
  }
}

[[noreturn, gnu::cold, maybe_unused]] void refuse(refusal no) noexcept {
  if (!on_large_stack([](void* said) { say(*static_cast<const refusal*>(said)); }, &no))
    say(no);
  std::abort();
}

#if !defined(NDEBUG) && !defined(SENNIT_SANITIZED)
constexpr bool looks_at_frames = true;
#else
constexpr bool looks_at_frames = false;  // sanitizers have their own cleanups
#endif

// Where a fiber continues that has given up a stack before. The frames beyond are not its own, if it got this
// stack from another one (stack handoff), or have nothing to destroy.
[[maybe_unused]] bool continues_fibers(std::uintptr_t function) noexcept {
  for (const auto each : {reinterpret_cast<std::uintptr_t>(thread_continue),
                          reinterpret_cast<std::uintptr_t>(parallel_thread_continue),
                          reinterpret_cast<std::uintptr_t>(thread_block),
                          reinterpret_cast<std::uintptr_t>(parallel_thread_block)})
    if (function == each)
      return true;
  return false;
}

// Returns why the frames may not be left, if so.
[[maybe_unused]] refusal look_at_frames(const fiber& self, const char* what, const void* from,
                                        unsigned trusted, silence not_said = silence::is_nothing) noexcept {
  const stack_memory& stack = self.frame->record.memory;
  if (!stack.holds(reinterpret_cast<std::uintptr_t>(from)))
    return {what, &self,
            "would leave a generator, a coroutine or a call on a large stack unfinished: call it outside of "
            "these"};
  if (std::current_exception() != nullptr)
    return {what, &self,
            "handles an exception, which would never be destroyed: call it behind the catch block"};
  if (std::uncaught_exceptions() != 0)
    return {what, &self,
            "would leave destructors that run because of an exception: call it outside of these"};
  if (const std::uintptr_t at = frame_with_cleanup(from, trusted, continues_fibers, not_said))
    return {what, &self,
            "would leave what a function has yet to destroy: end its scope before, or return "
            "sennit::become(...); "
            "it is in ",
            at};
  return {};
}

}  // namespace

frame_cleanup::frame_cleanup(void (*run)(frame_cleanup&) noexcept) noexcept : run_(run) {
  const worker* const w = this_worker();
  coroutine_frame* const frame =
      w != nullptr && w->ready.running() ? fiber_frame(*w->ready.current) : nullptr;
  if (frame == nullptr)
    return;
  if (!frame->record.holds(reinterpret_cast<std::uintptr_t>(this)))
    return;
  of_ = &frame->cleanups;
  outer_ = std::exchange(*of_, this);
}

void give_up_frames_below(const void* high) noexcept {
  coroutine_frame& frame = *running_worker().ready.current->frame;
  const stack_record* on = frame.record.lent;
  // Uses the bounds of each stack, not the stack pointer of the code that is left, which may be in a guard.
  for (; on != nullptr && !on->memory.holds(reinterpret_cast<std::uintptr_t>(high)); on = on->lent)
    frame_cleanup::give_up(frame.cleanups, on->memory.low, on->memory.high());
  frame_cleanup::give_up(frame.cleanups, (on != nullptr ? *on : frame.record).memory.low, high);
}

void give_up_all_frames() noexcept {
  frame_cleanup::give_up(running_worker().ready.current->frame->cleanups, nullptr,
                         reinterpret_cast<const void*>(~std::uintptr_t{0}));
}

void frame_cleanup::give_up(frame_cleanup*& first, const void* low, const void* high) noexcept {
  while (first != nullptr && first >= low && first < high) {
    frame_cleanup& each = *first;
    first = each.outer_;
    each.run_(each);
  }
  stop_link::give_up(low, high);
}

void may_leave_frames(const char* what, const void* frame, [[maybe_unused]] unsigned trusted) noexcept {
  const fiber& self = *running_worker_for(what).ready.current;
  if constexpr (looks_at_frames)
    if (const refusal no = look_at_frames(self, what, frame, trusted); no.why != nullptr)
      refuse(no);
  sennit_should_hold_no_lock("blocks without its stack", nullptr);
}

bool could_leave_frames(const fiber& self, const void* frame) noexcept {
#if defined(SENNIT_SANITIZED)
  static_cast<void>(self), static_cast<void>(frame);
  return false;  // sanitizers have their own cleanups
#else
  // The table of a fiber's first frame does not say what is destroyed in the fiber's function, which is
  // compiled into it: everything is caught there.
  return has_no_body(*self.frame) &&
         look_at_frames(self, "", frame, 0, silence::may_hide_some).why == nullptr;
#endif
}

void fiber_discard() noexcept {
  if constexpr (!direct_entry)
    std::abort();  // not called there
  worker& w = running_worker();
  fiber& self = *w.ready.current;
  coroutine_frame& frame = *self.frame;
  self.flags.shutdown = shutdown_state::pending;
  self.flags.slow_path |= needs_slow_path;
  frame.record.memory.size = 0;    // destroy_stack does not free it
  frame.record.memory.shape = {};  // unlike any other shape: it is not kept
  forget_frames_of(self, frame);
  const sennit_decision next = frame.round(&frame);
  sennit_leave(next.target, next.value);
}

coroutine_frame* frame_without_body() noexcept {
  coroutine_frame& frame = *running_worker().ready.current->frame;
  return has_no_body(frame) ? &frame : nullptr;
}

void leave_frames_by_payload(coroutine_frame& frame) {
  const fiber& self = *running_worker().ready.current;
  auto& next = payload_get<continuation>(frame);
  clear_local(frame.own.locals, local_key::restart);  // its function is left
  try {
    continuation_access::keep(next, self);
  } catch (...) {
    payload_destroy<continuation>(frame);
    throw;
  }
  forget_frames_of(self, frame);
  go_to_base(frame);
}

void leave_frames(continuation&& next) {
  fiber& self = *running_worker().ready.current;
  coroutine_frame& frame = *self.frame;
  clear_local(frame.own.locals, local_key::restart);
  continuation_access::keep(next, self);
  forget_frames_of(self, frame);
  if (has_no_body(frame))
    go_to_base(frame, std::move(next));
  leaving how{std::move(next), std::exchange(self.flags.shutdown, shutdown_state::pending)};
  frame.error = &how;
  frame.round(&frame);
  __builtin_unreachable();
}

void leave_unwound(coroutine_frame& frame, body_destroyer destroy, continuation&& next) noexcept {
  if (!has_no_body(frame))
    destroy(frame);
  go_to_base(frame, std::move(next));
}

void leave_body(coroutine_frame& frame, fiber& self, body_destroyer destroy) noexcept {
  auto& how = *static_cast<leaving*>(std::exchange(frame.error, nullptr));
  self.flags.shutdown = how.shutdown;
  destroy(frame);
  go_to_base(frame, std::move(how.next));
}

}  // namespace sennit::inline v0_1::detail
