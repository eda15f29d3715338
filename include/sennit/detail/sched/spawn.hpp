// How a fiber begins and ends.
#pragma once

#include <cstdint>
#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/worker.hpp"

namespace sennit::detail {

// Keeps the exception being handled for the fiber's joiner, or ends the program when there can be none.
[[gnu::cold]] void fiber_fail(fiber& f) noexcept;
[[noreturn, gnu::cold]] void fiber_terminate(const fiber& f, std::exception_ptr error) noexcept;
[[noreturn, gnu::cold]] void fiber_rethrow(std::exception_ptr error);

// A finished fiber with a stack, for a new one. Throws as fiber_spawn.
[[gnu::cold]] fiber* fiber_take_slow(worker& w, std::size_t size, std::byte* memory, std::size_t guard);

// A new descriptor and a stack, of a worker.
fiber* fiber_make_with_stack(worker& w, const stack_source& stack);

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
SENNIT_INLINE void fiber_give(worker& w, fiber& f) noexcept {
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
coroutine_frame& frame_take(worker& w, const stack_source& stack, std::size_t leave = 1);
#if defined(SENNIT_SANITIZED)
// Whose frames were left: its run loop is to begin anew. Not on that stack.
void frame_restart(coroutine_frame& frame) noexcept;
#endif
// A stack that no fiber uses: the worker keeps it, or it goes back to the stack room.
void frame_keep(worker& w, coroutine_frame& frame) noexcept;
void frame_drop(coroutine_frame& frame) noexcept;

// Ends the fiber's park, or its next one.
SENNIT_INLINE void fiber_unpark(fiber& f) noexcept {
  f.flags.unpark_pending = true;
  if (f.flags.status == fiber_status::unpark)
    unpark(f, 0);
}

// Runs the worker on the calling thread until the host has a reason to go on.
void host_run(worker& w) noexcept;
void worker_post(worker& w, posted* post) noexcept;
void worker_unwind(worker& w) noexcept;
// Keeps at most the first 31 bytes.
void fiber_set_name(fiber& f, std::string_view name) noexcept;

// The end of the running fiber, on its own stack. Who is to be entered.
sennit_decision fiber_finish(worker& w, coroutine_frame& frame) noexcept;
// The same when it is no simple one. (It never returns: that it could lets others end by a jump there.)
[[gnu::cold]] sennit_decision fiber_finish_slow(worker& w) noexcept;

// A fiber's function has been left, or (again) all frames above it, and it has values of its own: what its
// waits ended by (scope_member.hpp) is not to end those of destructors.
[[gnu::cold]] void function_left(fiber& self) noexcept;
// A fiber's own values, if it has any. Defined beside fiber_local.
[[gnu::cold]] void destroy_locals(coroutine_frame& frame) noexcept;

// Every fiber's function comes by here. All else puts up with one that cannot be called, so that this is what
// a compiler says of it, and nothing more (but of a result that is used).
template <class Body>
[[gnu::always_inline]] inline void must_be_callable() noexcept {
  static_assert(std::is_invocable_v<Body&>,
                "sennit: a fiber's function is called without arguments: capture what it needs in a lambda");
}

// What a function returns, or void.
template <class Function>
struct called : std::conditional_t<std::is_invocable_v<Function&>, std::invoke_result<Function&>,
                                   std::type_identity<void>> {};
template <class Function>
using result_if_callable = typename called<std::remove_reference_t<Function>>::type;
// Whether a fiber's function may return a continuation.
template <class Body>
inline constexpr bool may_become = std::is_same_v<result_if_callable<Body>, continuation>;
// What is left of a function that has returned: a continuation, or nothing, at the cost of nothing.
struct no_continuation {
  explicit constexpr operator bool() const noexcept { return false; }
};
template <class Body>
using what_is_left = std::conditional_t<may_become<Body>, continuation, no_continuation>;
// What is left of its result: a continuation is none.
template <class Function>
using fiber_result = std::conditional_t<may_become<Function>, void, result_if_callable<Function>>;

// What its function ended with lies where a wait notes what it is for: put aside while destructors run, which
// may wait.
class error_aside {
public:
  explicit error_aside(fiber& f) noexcept
      : fiber_(f), error_(fiber_error(f) != nullptr ? f.error : nullptr) {}
  ~error_aside() {
    if (error_ != nullptr)
      fiber_.error = error_;
  }
  error_aside(const error_aside&) = delete;
  error_aside& operator=(const error_aside&) = delete;

private:
  fiber& fiber_;
  void* error_;
};

template <class Body>
[[gnu::always_inline]] inline void destroy_body(coroutine_frame& frame) noexcept {
  if constexpr (fits_payload<Body> && std::is_trivially_destructible_v<Body>) {
    payload_destroy<Body>(frame);
  } else {
    const error_aside meanwhile(current_fiber());
    payload_destroy<Body>(frame);
  }
}

// Calls a fiber's function. (A continuation is made where it is wanted, so all of these return what they
// call, and name it once: to move one costs more than all else in giving up a stack. And all of these are in
// the round's frame, in any build: an exception may be thrown from where a fault was if it may leave each
// frame below the root, and what catches all is noexcept.)
template <class Body>
[[gnu::always_inline]] inline what_is_left<Body> call_body(coroutine_frame& frame) {
  if constexpr (std::is_same_v<Body, resumed>) {
    return call_continuation(current_fiber(), frame);
  } else if constexpr (may_become<Body>) {
    return payload_get<Body>(frame)();
  } else {
    if constexpr (std::is_invocable_v<Body&>)
      payload_get<Body>(frame)();
    return {};
  }
}
template <class Body>
[[gnu::always_inline]] inline what_is_left<Body> try_body(coroutine_frame& frame) noexcept {
  bool unwound = false;
  try {
    return call_body<Body>(frame);
  } catch (const forced_unwind&) {
    unwound = true;
  } catch (...) {
    fiber_fail(current_fiber());
  }
  if (unwound) [[unlikely]]
    body_unwound(frame, current_fiber(), destroy_body<Body>);
  return {};
}
template <class Body>
[[gnu::always_inline]] inline what_is_left<Body> begin_body(coroutine_frame& frame) noexcept {
  fiber& self = current_fiber();
  if (std::is_same_v<Body, resumed> || self.flags.told != telling::due) [[likely]]
    return try_body<Body>(frame);
  if (frame.error != nullptr)
    leave_body(frame, self, destroy_body<Body>);
  self.flags.unusual |= is_unusual;  // its runtime ends
  return {};
}

// A continuation, if it is one, gets what its fiber has beside its stack. False: it is none, or there is no
// memory for that, and the fiber has failed.
[[gnu::cold]] bool keep_or_fail(continuation& next, fiber& self) noexcept;
SENNIT_INLINE bool may_go_on(continuation& next, coroutine_frame& frame) noexcept {
  if (!next)
    return false;
  return !continuation_access::has_values(current_fiber(), frame) || keep_or_fail(next, current_fiber());
}
SENNIT_INLINE bool may_go_on(no_continuation, coroutine_frame&) noexcept {
  return false;
}

// Runs the function of the running fiber, and destroys it. Returns how it goes on, if it does. (Who runs is
// looked up again where it is wanted: to keep more than the frame over the call, registers would have to be
// saved for nobody.)
template <class Body>
[[gnu::always_inline]] inline what_is_left<Body> run_body(coroutine_frame& frame) noexcept {
  what_is_left<Body> next = begin_body<Body>(frame);
  const bool goes_on = may_go_on(next, frame);
  if (frame.own.locals != nullptr) [[unlikely]]
    function_left(current_fiber());
  destroy_body<Body>(frame);
  if (goes_on) {
    sennit_should_hold_no_lock("blocks without its stack", nullptr);
  } else {
    if (frame.own.locals != nullptr) [[unlikely]]
      destroy_locals(frame);
    sennit_should_hold_no_lock("ends", nullptr);
    stack_should_be_whole(frame.record);
  }
  return next;
}

// Has the running fiber go on where another has left its stack, by a call of its continuation. `next`: what
// that one's was taken from before, this one's after. False: it has ended.
[[gnu::always_inline]] inline bool stack_handoff(coroutine_frame& frame, continuation& next) noexcept {
  ::new (static_cast<void*>(&next)) continuation(run_body<resumed>(frame));
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
inline sennit_decision round_ended(coroutine_frame&, no_continuation) noexcept {
  return {nullptr, false};
}
// The rest of a round that ends by a continuation, where switches are: the fiber blocks by it; it is filed,
// on what was its stack, and if who runs next has none that goes on right here, by a call, and so on (stack
// handoff). Who is to be entered in the end.
sennit_decision thread_block(worker& w, coroutine_frame& frame, continuation& next) noexcept;
// Whether it is one that others may go on on, too.
inline bool is_of_usual_size(const worker& w, const coroutine_frame& frame) noexcept {
  return frame.record.memory.shape == w.usual_stack;
}
// Whether frame_keep() would keep it: it is not to be given away by who still stands on it.
inline bool may_keep(const worker& w, const coroutine_frame& frame) noexcept {
  return is_of_usual_size(w, frame) && w.spare_frame_count != most_spare_frames;
}
// Switches from a fiber that has blocked by a continuation, and been filed, to `next`, which is current:
// nothing is saved, and the stack is the worker's. The round that ends there enters what this returns.
SENNIT_INLINE sennit_decision switch_context(worker& w, coroutine_frame& left, fiber& next) {
  if (!may_keep(w, left))
    suspend(w, sennit_decide_for_current, &left, false);
  count_stacks(-1);
  frame_keep(w, left);
  return entering(w, next);
}

// A fiber's life.
template <class Body>
sennit_decision fiber_round(void* top) noexcept {
  auto& frame = *static_cast<coroutine_frame*>(top);
  what_is_left<Body> next = run_body<Body>(frame);
  if constexpr (!direct_entry)
    return round_ended(frame, next);
  worker& w = *this_worker();
  if constexpr (may_become<Body>)
    if (next)
      return sennit_round_leave(thread_block(w, frame, next));
  return fiber_finish(w, frame);
}
// What a stack begins with that was attached to a fiber.
inline constexpr sennit_round thread_continue = fiber_round<resumed>;

// A finished fiber, which has got a function, begins anew.
SENNIT_INLINE void fiber_reset(fiber& f, coroutine_frame& frame, sennit_round round, bool owned) noexcept {
  count_stacks(1);
  frame.round = round;
  f.flags = {.status = fiber_status::notified, .owned = owned};
  f.id = 0;
  renew_identity(frame.identity, frame.record.memory.low, frame.record.memory.size);
}

// A new fiber, which is yet to be made ready; `owned`: a handle will refer to it. A stack of size 0: the
// worker's. Throws std::system_error or std::bad_alloc when memory or mappings ran out, or what copying the
// function throws.
template <class Function>
SENNIT_INLINE fiber& fiber_begin(worker& w, Function&& function, stack_wish stack, bool owned) {
  using body = std::decay_t<Function>;
  must_be_callable<body>();
  fiber* f = w.idle;
  if (f == nullptr || !stack.is_usual()) [[unlikely]]
    f = fiber_take_slow(w, stack.size, stack.memory, stack.guard);
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
  fiber_reset(*f, frame, fiber_round<body>, owned);
  if (!stack.is_usual()) [[unlikely]]
    f->flags.unusual = frame.record.memory.shape != w.usual_stack;
  f->joiner = nullptr;
  return *f;
}

// The same, ready to run: in its turn, whoever runs.
template <class Function>
SENNIT_INLINE fiber& fiber_spawn(worker& w, Function&& function, stack_wish stack, bool owned) {
  fiber& f = fiber_begin(w, std::forward<Function>(function), stack, owned);
  w.ready.add(&f);
  return f;
}

}  // namespace sennit::detail
