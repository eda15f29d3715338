// How a fiber begins and ends.
#pragma once

#include <cstdint>
#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/first_round.hpp"
#include "sennit/detail/sched/worker.hpp"

namespace sennit::inline v0_1::detail {

// Keeps the exception being handled for the fiber's joiner. Ends the program if there can be no joiner.
[[gnu::cold]] void fiber_fail(fiber& f) noexcept;
[[noreturn, gnu::cold]] void fiber_terminate(const fiber& f, std::exception_ptr error) noexcept;
[[noreturn, gnu::cold]] void fiber_rethrow(std::exception_ptr error);

// Returns a finished fiber with a stack for a new one. If there is none, returns null if the fiber may get
// its stack later, and otherwise a new one. Throws as fiber_spawn.
[[gnu::cold]] fiber* allocate_fiber_slow(worker& w, std::size_t size, std::byte* memory, std::size_t guard,
                                         bool may_begin_later);

// Makes a new descriptor with a stack for a worker.
fiber* fiber_make_with_stack(worker& w, const stack_source& stack);

// The fiber could not begin, because there is no memory for its stack: fails like a function that throws.
[[gnu::cold]] void fail_for_lack_of_stack(fiber& f) noexcept;

// Ends the running fiber immediately. Its function object is destroyed, but not the objects on its stack. The
// stack is never reused, because other fibers may still refer to it. Native switches only.
[[noreturn, gnu::cold]] void fiber_discard() noexcept;

// Destroys a fiber's function object, whose type the caller does not know.
using body_destroyer = void (*)(coroutine_frame& frame);
// Continues a round that began anew, deep on a fiber's stack, to destroy the function object.
[[noreturn, gnu::cold]] void leave_body(coroutine_frame& frame, fiber& self, body_destroyer destroy) noexcept;

// Fatal, at the end of a runtime: a fiber has not ended, and cannot.
[[noreturn, gnu::cold]] void fiber_would_not_end(const fiber& f, const char* reason) noexcept;

// Take back a fiber to which no handle refers.
[[gnu::cold]] void recycle_fiber_slow(worker& w, fiber& f) noexcept;
SENNIT_INLINE void recycle_fiber(worker& w, fiber& f) noexcept {
  if (f.flags.slow_path) [[unlikely]] {
    recycle_fiber_slow(w, f);
    return;
  }
  f.next = w.idle;
  w.idle = &f;
}

// The worker takes the stack of a finished fiber to which a handle still refers.
void fiber_detach_frame(worker& w, fiber& f) noexcept;
// Returns a stack with a fiber's run loop: an idle one, or a new one. Throws as fiber_spawn. Fibers that
// begin with a stack leave `leave` idle ones for stackless fibers, which could not handle a lack of memory.
coroutine_frame& acquire_stack(worker& w, const stack_source& stack, std::size_t leave = 1);
#if defined(SENNIT_SANITIZED)
// The frames on the stack were left: its run loop must begin anew. Not called on that stack.
void frame_restart(coroutine_frame& frame) noexcept;
#endif
// cache_stack(): the worker keeps a stack that no fiber uses, or it goes back to the stack room.
void cache_stack(worker& w, coroutine_frame& frame) noexcept;
void destroy_stack(coroutine_frame& frame) noexcept;

// Ends the fiber's park, or its next one.
SENNIT_INLINE void fiber_unpark(fiber& f) noexcept {
  f.flags.unpark_pending = true;
  if (f.flags.status == fiber_status::unpark)
    unpark(f, 0);
}

// Runs the worker on the calling thread until the main fiber may continue.
void bind_and_run(worker& w) noexcept;
void worker_post(worker& w, posted* post) noexcept;
void worker_unwind(worker& w) noexcept;
// Keeps at most the first 31 bytes.
void fiber_set_name(fiber& f, std::string_view name) noexcept;

// Ends the running fiber, on its own stack. Returns what to enter next.
sennit_decision fiber_finish(worker& w, coroutine_frame& frame) noexcept;
// Its slow path. It never returns. It is not declared noreturn, so that callers can tail-call it.
[[gnu::cold]] sennit_decision fiber_finish_slow(worker& w) noexcept;

// Destroys the fiber's fiber-local values, if any. Defined beside fiber_local.
[[gnu::cold]] void destroy_locals(coroutine_frame& frame) noexcept;

// All functions of fibers pass here. All other code accepts functions that cannot be called, so that the
// compiler reports only this error (and uses of the result).
template <class Body>
[[gnu::always_inline]] inline void must_be_callable() noexcept {
  static_assert(std::is_invocable_v<Body&>,
                "sennit: a fiber's function is called without arguments: capture what it needs in a lambda");
}

// A fiber's function that stays where its caller has it.
template <class Function>
struct callers_function {
  Function& function;
  decltype(auto) operator()() const
    requires std::is_invocable_v<Function&>
  {
    return function();
  }
};

// The result type of a function, or void if it cannot be called.
template <class Function>
struct called : std::conditional_t<std::is_invocable_v<Function&>, std::invoke_result<Function&>,
                                   std::type_identity<void>> {};
template <class Function>
using result_if_callable = typename called<std::remove_reference_t<Function>>::type;
// Whether a fiber's function may return a continuation.
template <class Body>
inline constexpr bool may_become = std::is_same_v<result_if_callable<Body>, continuation>;
// The result of a body: a continuation, or an empty tag that costs nothing.
struct no_continuation {
  explicit constexpr operator bool() const noexcept { return false; }
};
template <class Body>
using what_is_left = std::conditional_t<may_become<Body>, continuation, no_continuation>;
// The result of a body for its joiner: void if it is a continuation.
template <class Function>
using fiber_result = std::conditional_t<may_become<Function>, void, result_if_callable<Function>>;

// Sets the fiber's exception aside while destructors run. They may wait, and waits use the same place.
class saved_error {
public:
  explicit saved_error(fiber& f) noexcept
      : fiber_(f), error_(fiber_error(f) != nullptr ? f.error : nullptr) {}
  ~saved_error() {
    if (error_ != nullptr)
      fiber_.error = error_;
  }
  saved_error(const saved_error&) = delete;
  saved_error& operator=(const saved_error&) = delete;

private:
  fiber& fiber_;
  void* error_;
};

template <class Body>
[[gnu::always_inline]] inline void destroy_body(coroutine_frame& frame) noexcept {
  if constexpr (fits_payload<Body> && std::is_trivially_destructible_v<Body>) {
    payload_destroy<Body>(frame);
  } else {
    const saved_error meanwhile(current_fiber());
    payload_destroy<Body>(frame);
  }
}

// A stackless fiber that continues on a stack of the usual size, of a worker that it cannot leave.
struct handed_off {
  const worker& here;
  fiber& who;
};

// Calls a fiber's function. `of`: if it is known. A continuation is constructed in its final place: all of
// these functions return the result of a call, and name it once. A move would cost more than all else in
// giving up a stack. In every build, all of these are inlined into the round's frame, and the catch of all
// exceptions is noexcept. So an exception may be thrown from where a fault was, if it may leave each frame
// below the root.
template <class Body>
[[gnu::always_inline]] inline what_is_left<Body> call_body(coroutine_frame& frame, const handed_off* of) {
  if constexpr (std::is_same_v<Body, resumed>) {
    return of != nullptr ? call_continuation_of_stackless(of->who, frame)
                         : call_continuation(current_fiber(), frame);
  } else if constexpr (may_become<Body>) {
    return payload_get<Body>(frame)();
  } else {
    if constexpr (std::is_invocable_v<Body&>)
      payload_get<Body>(frame)();
    return {};
  }
}
template <class Body>
[[gnu::always_inline]] inline what_is_left<Body> try_body(coroutine_frame& frame,
                                                          const handed_off* of) noexcept {
  bool unwound = false;
  try {
    return call_body<Body>(frame, of);
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
[[gnu::always_inline]] inline what_is_left<Body> begin_body(coroutine_frame& frame,
                                                            const handed_off* of) noexcept {
  if constexpr (std::is_same_v<Body, resumed>)
    return try_body<Body>(frame, of);
  fiber& self = current_fiber();
  if (may_begin(self.flags.shutdown)) [[likely]]
    return try_body<Body>(frame, of);
  if (self.flags.shutdown == shutdown_state::no_stack) {
    if constexpr (requires { typename Body::sennit_scope_child; })  // its scope must learn of it
      payload_get<Body>(frame).begin();
    fail_for_lack_of_stack(self);
    return {};
  }
  if (frame.error != nullptr)
    leave_body(frame, self, destroy_body<Body>);
  self.flags.slow_path |= needs_slow_path;  // the runtime ends
  return {};
}

// Puts the fiber's values into a continuation. Returns false if it is none, or if there is no memory: then
// the fiber has failed.
[[gnu::cold]] bool keep_or_fail(continuation& next, fiber& self) noexcept;
SENNIT_INLINE bool may_go_on(continuation& next, coroutine_frame& frame, const handed_off* of) noexcept {
  if (!next)
    return false;
  if (of != nullptr ? !continuation_access::has_name_or_locals(*of->here.ready.current, frame)
                    : !continuation_access::has_values(current_fiber(), frame)) [[likely]]
    return true;
  return keep_or_fail(next, current_fiber());
}
SENNIT_INLINE bool may_go_on(no_continuation, coroutine_frame&, const handed_off*) noexcept {
  return false;
}

// Runs the function of the running fiber, and destroys it. Returns the continuation, if there is one. The
// running fiber is looked up where it is needed: keeping more than the frame over the call would need more
// saved registers.
template <class Body>
[[gnu::always_inline]] inline what_is_left<Body> run_body(coroutine_frame& frame,
                                                          const handed_off* of = nullptr) noexcept {
  what_is_left<Body> next = begin_body<Body>(frame, of);
  const bool goes_on = may_go_on(next, frame, of);
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

// The running fiber continues on the stack that another fiber has left: calls its continuation. `next`: the
// other fiber's continuation before the call, this fiber's after it. Returns false if the fiber has ended.
[[gnu::always_inline]] inline bool stack_handoff(coroutine_frame& frame, continuation& next,
                                                 const handed_off* of = nullptr) noexcept {
  ::new (static_cast<void*>(&next)) continuation(run_body<resumed>(frame, of));
  return bool(next);
}

// Without direct switches, tells fiber_loop how a round has ended. The continuation becomes the payload, if
// it is not that already.
inline sennit_decision round_ended(coroutine_frame& frame, continuation& next) noexcept {
  const bool goes_on(next);
  if (goes_on && static_cast<void*>(&next) != frame.payload)
    ::new (static_cast<void*>(frame.payload)) continuation(std::move(next));
  return {nullptr, goes_on};
}
inline sennit_decision round_ended(coroutine_frame&, no_continuation) noexcept {
  return {nullptr, false};
}
// With direct switches, the rest of a round that ends with a continuation. The fiber blocks: it is filed, on
// what was its stack. If the next fiber is stackless, it continues right here, by a call, and so on (stack
// handoff). Returns what to enter in the end.
sennit_decision thread_block(worker& w, coroutine_frame& frame, continuation& next) noexcept;
// Returns whether other fibers may use the stack, too.
inline bool is_of_usual_size(const worker& w, const coroutine_frame& frame) noexcept {
  return frame.record.memory.shape == w.usual_stack;
}
// Returns whether cache_stack() would keep it. A fiber must not give back a stack on which it still stands.
inline bool may_keep(const worker& w, const coroutine_frame& frame) noexcept {
  return is_of_usual_size(w, frame) && w.spare_frame_count != most_spare_frames;
}
// Switches to `next`, which is current, from a fiber that has blocked with a continuation and been filed.
// Nothing is saved, and the worker gets the stack. The round that ends there enters the result.
SENNIT_INLINE sennit_decision switch_context(worker& w, coroutine_frame& left, fiber& next) {
  if (!may_keep(w, left))
    suspend(w, sennit_dispatch_for_current, &left, false);
  count_stacks(-1);
  cache_stack(w, left);
  return entering(w, next);
}

// The life of a fiber.
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
// The round of a stack that was attached to a fiber.
inline constexpr sennit_round thread_continue = fiber_round<resumed>;

// A finished fiber, which has a new function, begins anew.
SENNIT_INLINE void fiber_reset(fiber& f, coroutine_frame& frame, sennit_round round, bool owned) noexcept {
  count_stacks(1);
  frame.round = round;
  f.flags = {.status = fiber_status::begins, .owned = owned};
  f.id = 0;
  renew_identity(frame.identity, frame.record.memory.low, frame.record.memory.size);
}

// Makes a new fiber, which is not ready yet. `owned`: a handle will refer to it. A stack of size 0 is one of
// the worker's size. Throws std::system_error or std::bad_alloc if memory or mappings run out, and what
// copying the function throws.
template <class Function>
SENNIT_INLINE fiber& fiber_begin(worker& w, Function&& function, stack_request stack, bool owned) {
  using body = std::decay_t<Function>;
  must_be_callable<body>();
  fiber* f = w.idle;
  if (f == nullptr || !stack.is_usual()) [[unlikely]] {
    f = allocate_fiber_slow(w, stack.size, stack.memory, stack.guard, begins_later<body> && !stack.at_once);
    if constexpr (begins_later<body>)
      if (f == nullptr) {
        fiber& later = begin_later<body, fiber_round<body>>(w, std::forward<Function>(function), owned);
        later.joiner = nullptr;
        return later;
      }
  } else {
    w.idle = f->next;
  }
  coroutine_frame& frame = *f->frame;
  if constexpr (noexcept(body(std::forward<Function>(function))) && fits_payload<body>) {
    payload_store<body>(frame, std::forward<Function>(function));
  } else {
    try {
      payload_store<body>(frame, std::forward<Function>(function));
    } catch (...) {
      recycle_fiber(w, *f);
      throw;
    }
  }
  fiber_reset(*f, frame, fiber_round<body>, owned);
  if (!stack.is_usual()) [[unlikely]]
    f->flags.slow_path = frame.record.memory.shape != w.usual_stack;
  f->joiner = nullptr;
  return *f;
}

// Like fiber_spawn() by usual options, if an idle fiber can be had and nothing can throw: otherwise returns
// null. Then the caller need not save registers for the rest.
template <class Function>
SENNIT_INLINE fiber* fiber_try_spawn(worker& w, const Function& function, bool owned) noexcept {
  static_assert(fits_payload<Function> && std::is_nothrow_copy_constructible_v<Function>);
  fiber* const f = w.idle;
  if (f == nullptr) [[unlikely]]
    return nullptr;
  w.idle = f->next;
  payload_store<Function>(*f->frame, function);
  fiber_reset(*f, *f->frame, fiber_round<Function>, owned);
  f->joiner = nullptr;
  w.ready.add_by_running(f);
  return f;
}

// Makes a new fiber, and queues it in its turn.
template <class Function>
SENNIT_INLINE fiber& fiber_spawn(worker& w, Function&& function, stack_request stack, bool owned) {
  fiber& f = fiber_begin(w, std::forward<Function>(function), stack, owned);
  w.ready.add(&f);
  return f;
}

}  // namespace sennit::inline v0_1::detail
