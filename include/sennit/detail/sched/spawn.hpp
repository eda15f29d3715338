// How a fiber begins and ends.
#pragma once

#include <cstdint>
#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sennit/detail/sched/worker.hpp"

namespace sennit::detail {

// Keeps the exception being handled for the fiber's joiner, or ends the program when there can be none.
[[gnu::cold]] void fiber_fail(fiber& f) noexcept;
[[noreturn, gnu::cold]] void fiber_terminate(const fiber& f, std::exception_ptr error) noexcept;
[[noreturn, gnu::cold]] void fiber_rethrow(std::exception_ptr* error);

// A finished fiber with a stack, for a new one. Throws as fiber_spawn.
[[gnu::cold]] fiber* fiber_take_slow(worker& w, stack_wish stack);

// A new descriptor and a stack, of a worker; the wish's size is a class.
fiber* fiber_make_with_stack(worker& w, stack_wish stack);

// The running fiber ends here and now: its function object is destroyed, but nothing of what is on its stack,
// which nobody uses again: others may still refer to it. Native switches only.
[[noreturn, gnu::cold]] void fiber_discard() noexcept;

// A fiber's function object, of a type that is not known there.
using body_destroyer = void (*)(coroutine_frame& frame);
// What begins anew deep on a fiber's stack, so that its round destroys the function object, goes on here.
[[noreturn, gnu::cold]] void leave_body(coroutine_frame& frame, fiber& self, body_destroyer destroy) noexcept;
// A fiber's function was left by forced_unwind. Where that was by a yield with a continuation, this does not
// return.
[[gnu::cold]] void body_unwound(coroutine_frame& frame, fiber& self, body_destroyer destroy) noexcept;

// At the end of its runtime: a fiber has not ended, nor can it.
[[noreturn, gnu::cold]] void fiber_would_not_end(const fiber& f, const char* reason) noexcept;

// Back, when nobody refers to it any more.
[[gnu::cold]] void fiber_give_slow(worker& w, fiber& f) noexcept;
[[gnu::always_inline]] inline void fiber_give(worker& w, fiber& f) noexcept {
  if (f.flags.unusual) [[unlikely]] {
    fiber_give_slow(w, f);
    return;
  }
  f.next = w.idle;
  w.idle = &f;
}

// A finished fiber that a handle still refers to gives its stack up, to the worker.
void fiber_detach_frame(worker& w, fiber& f) noexcept;
// A stack with a fiber's run loop: one that no fiber uses, or a new one. Throws as fiber_spawn. Fibers that
// begin with a stack leave one to those that go on without, who could not be told that there is no memory.
coroutine_frame& frame_take(worker& w, stack_wish stack, std::size_t leave = 1);
#if defined(SENNIT_SANITIZED)
// Whose frames were left: its run loop is to begin anew. Not on that stack.
void frame_restart(coroutine_frame& frame) noexcept;
#endif
// A stack that no fiber uses: the worker keeps it, or it goes back to the stack room.
void frame_keep(worker& w, coroutine_frame& frame) noexcept;
void frame_drop(coroutine_frame& frame) noexcept;

// Ends the fiber's park, or its next one.
void fiber_unpark(fiber& f) noexcept;

// Runs the worker on the calling thread until the host has a reason to go on.
void host_run(worker& w) noexcept;
void worker_post(worker& w, posted* post) noexcept;
void worker_unwind(worker& w) noexcept;
// Keeps at most the first 31 bytes.
void fiber_set_name(fiber& f, std::string_view name) noexcept;

// A fiber's end when it is no simple one.
[[gnu::cold]] void fiber_finish_slow(worker& w, fiber& self) noexcept;

// The end of a fiber, on its own stack. Who is to be entered: its joiner, which takes its place and gives it
// back, or, if nobody refers to it, the next in the ring; its stack may then be reused, and will not be
// before it is left.
[[gnu::always_inline]] inline sennit_decision fiber_finish(worker& w, fiber& self) noexcept {
  count_stacks(-1);
  self.flags.status = fiber_status::finished;
  if (may_enter_directly(w) && w.ready.plain()) [[likely]] {
    self.context = self.frame->context;
    if (fiber* joiner = self.joiner) [[likely]] {
      const auto word = reinterpret_cast<std::uintptr_t>(&self);
      awaken(*joiner, word, fiber_status::notified);
      w.ready.replace_running(joiner);
      return entering(w, *joiner);
    }
    // Nor does the host wait for it. (One that is unusual may have a stack that goes back at once.)
    if (!self.flags.owned && !self.flags.unusual) {
      if (fiber* next = w.ready.step_off()) {
        const sennit_decision decision = entering(w, *next);  // before our stack may be taken for it
        fiber_give(w, self);
        return decision;
      }
    }
  }
  fiber_finish_slow(w, self);
  return {};
}

// A fiber's function has been left, or (again) all frames above it, and it has values of its own: what its
// waits ended by (scope_member.hpp) is not to end those of destructors.
[[gnu::cold]] void function_left(fiber& self) noexcept;
// A fiber's own values, if it has any. Defined beside fiber_local.
[[gnu::cold]] void destroy_locals(coroutine_frame& frame) noexcept;

// Whether a fiber's function may return a continuation.
template <class Body>
inline constexpr bool may_become =
    std::is_same_v<std::invoke_result_t<std::remove_reference_t<Body>&>, continuation>;
// What is left of its result: a continuation is none.
template <class Function>
using fiber_result =
    std::conditional_t<may_become<Function>, void, std::invoke_result_t<std::remove_reference_t<Function>&>>;

template <class Body>
void destroy_body(coroutine_frame& frame) {
  payload_destroy<Body>(frame);
}

// Calls a fiber's function. (A continuation is made where it is wanted: to move one costs more than all else
// in giving up a stack.)
template <class Body>
[[gnu::always_inline]] inline continuation call_body(coroutine_frame& frame, [[maybe_unused]] fiber& self) {
  if constexpr (std::is_same_v<Body, resumed>) {
    return call_continuation(self, frame);
  } else if constexpr (may_become<Body>) {
    return payload_get<Body>(frame)();
  } else {
    payload_get<Body>(frame)();
    return {};
  }
}
template <class Body>
[[gnu::always_inline]] inline continuation try_body(coroutine_frame& frame, fiber& self) noexcept {
  bool unwound = false;
  try {
    continuation next = call_body<Body>(frame, self);
    if (may_become<Body> && next)
      continuation_access::keep(next, self);
    return next;
  } catch (const forced_unwind&) {
    unwound = true;
  } catch (...) {
    fiber_fail(self);
  }
  if (unwound) [[unlikely]]
    body_unwound(frame, self, destroy_body<Body>);
  return {};
}
template <class Body>
[[gnu::always_inline]] inline continuation begin_body(coroutine_frame& frame, fiber& self) noexcept {
  if (std::is_same_v<Body, resumed> || self.flags.told != telling::due) [[likely]]
    return try_body<Body>(frame, self);
  if (frame.error != nullptr)
    leave_body(frame, self, destroy_body<Body>);
  self.flags.unusual |= is_unusual;  // its runtime ends
  return {};
}

// Runs a fiber's function, and destroys it. Returns how it goes on, if it does.
template <class Body>
[[gnu::always_inline]] inline continuation run_body(coroutine_frame& frame, fiber& self) noexcept {
  continuation next = begin_body<Body>(frame, self);
  if (frame.own.locals != nullptr) [[unlikely]]
    function_left(self);
  payload_destroy<Body>(frame);
  if (may_become<Body> && next) {
    sennit_should_hold_no_lock("blocks without its stack", nullptr);
  } else {
    if (frame.own.locals != nullptr) [[unlikely]]
      destroy_locals(frame);
    sennit_should_hold_no_lock("ends", nullptr);
    stack_should_be_whole(frame.record);
  }
  return next;
}

// Has a fiber go on where another has left its stack, by a call of its continuation. `next`: of that one
// before, of this one after. False: it has ended.
inline bool stack_handoff(coroutine_frame& frame, sennit_round round, fiber& f, continuation& next) noexcept {
  frame.round = round;
  next.~continuation();
  ::new (static_cast<void*>(&next)) continuation(run_body<resumed>(frame, f));
  return bool(next);
}

// What a round leaves to fiber_loop, where switches are not direct: which way it has ended. The continuation
// is the payload.
inline sennit_decision round_ended(coroutine_frame& frame, continuation& next) noexcept {
  const bool goes_on(next);
  if (goes_on)
    ::new (static_cast<void*>(frame.payload)) continuation(std::move(next));
  return {nullptr, goes_on};
}
// The rest of a round that ends by a continuation, where switches are: the fiber blocks by it; it is filed,
// on what was its stack, and if who runs next has none that goes on right here, by a call, and so on (stack
// handoff). Who is to be entered in the end.
[[gnu::cold]] sennit_decision thread_block(worker& w, coroutine_frame& frame, continuation& next) noexcept;
// Whether frame_keep() would keep it: it is not to be given away by who still stands on it.
inline bool may_keep(const worker& w, const coroutine_frame& frame) noexcept {
  return frame.record.memory.size == w.stack_size && w.spare_frame_count != most_spare_frames;
}

// A fiber's life.
template <class Body>
sennit_decision fiber_round(void* top) noexcept {
  auto& frame = *static_cast<coroutine_frame*>(top);
  worker& w = *this_worker();
  fiber& self = *w.ready.current;
  continuation next = run_body<Body>(frame, self);
  if constexpr (!direct_entry)
    return round_ended(frame, next);
  if (may_become<Body> && next)
    return thread_block(w, frame, next);
  return fiber_finish(w, self);
}
// What a stack begins with that was attached to a fiber.
inline constexpr sennit_round thread_continue = fiber_round<resumed>;

// A finished fiber, which has got a function, begins anew.
[[gnu::always_inline]] inline void fiber_reset(fiber& f, sennit_round round, bool owned) noexcept {
  count_stacks(1);
  coroutine_frame& frame = *f.frame;
  frame.round = round;
  f.flags = {.status = fiber_status::notified, .owned = owned};
  f.id = 0;
  renew_identity(frame.identity, frame.record.memory.low, frame.record.memory.size);
}

// A new fiber, ready to run; `owned`: a handle will refer to it. A stack of size 0: the worker's. Throws
// std::system_error or std::bad_alloc when memory or mappings ran out, or what copying the function throws.
template <class Function>
[[gnu::always_inline]] inline fiber& fiber_spawn(worker& w, Function&& function, stack_wish stack,
                                                 bool owned) {
  using body = std::decay_t<Function>;
  fiber* f = w.idle;
  if (f == nullptr || stack.size != 0) [[unlikely]]
    f = fiber_take_slow(w, stack);
  else
    w.idle = f->next;
  coroutine_frame& frame = *f->frame;
  if constexpr (noexcept(body(std::forward<Function>(function))) && fits_payload<body>) {
    payload_store<body>(frame, std::forward<Function>(function));
  } else {
    try {
      payload_store<body>(frame, std::forward<Function>(function));
    } catch (...) {
      fiber_give(w, *f);
      throw;
    }
  }
  fiber_reset(*f, fiber_round<body>, owned);
  if (stack.size != 0) [[unlikely]]
    f->flags.unusual = frame.record.memory.size != w.stack_size;
  f->joiner = nullptr;
  w.ready.add(f);
  return *f;
}

}  // namespace sennit::detail
