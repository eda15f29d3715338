// A coroutine kept whole: stack, run loop and message box, reused without making any of them anew.
//
// The frame lies at the top of the coroutine's stack; the run loop's context lies right below it:
//
//   high  | (colour: unused bytes, so that tops do not share cache sets) |
//         | frame: resumer | context | action | ... | payload            |
//         +---------------------------------------------------------------+ <- &frame: 16-aligned, the run
//         | the run loop's call of the action, the body's frames ...      |    loop's first frame
//   low   | guard                                                         |
//
// The run loop waits for a message (an action), executes it, says that it is finished, and waits again. Who
// sees it finished puts it back into its thread's pool: a stack is never published by code that runs on it.
//
// Source: RethinkDB, "Making coroutines fast": reusing coroutines. Dolan 2013, section 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/context.h"
#include "sennit/detail/arch/thread.h"
#include "sennit/detail/stack/sanitizer.hpp"
#include "sennit/detail/stack/stack.hpp"

namespace sennit::detail {

inline constexpr std::size_t payload_size = 96;

enum class coroutine_state : std::uint8_t {
  idle,       // in a pool, or finished
  active,     // has a message
  unwinding,  // told to leave its body by forced unwind
};

struct coroutine_frame {
  sennit_context resumer;            // who resumed us last; the backtrace's link: must be the first word
  sennit_round round;                // a fiber's message; must be the second word
  sennit_context context;            // where we, or the innermost generator that we yield from, are suspended
  void (*action)(coroutine_frame&);  // the message; must not throw
  coroutine_frame* next;             // in an idle list
  coroutine_state state;
  bool usual;                                   // its stack has the default size
  alignas(16) std::byte payload[payload_size];  // the body's function object, or a pointer to it
  coroutine_frame* root;   // whose resumer our yields go to: ourselves, or (yield_all) another
  std::uintptr_t mail[2];  // coroutine<Out(In)>'s: first argument, place of the result
  void* error;             // a std::exception_ptr's content: what the body ended with
  stack_record record;
  switch_identity identity;           // the rest is for sanitizer builds only:
  switch_identity* active_identity;   // who is suspended at `context`
  switch_identity* resumer_identity;  // who is suspended at `resumer`
};

static_assert(offsetof(coroutine_frame, resumer) == 0);
static_assert(offsetof(coroutine_frame, round) == sizeof(void*));

// Thrown through a body that is destroyed before its end. A body may catch (...) but must rethrow.
struct forced_unwind {};

[[noreturn, gnu::cold]] void throw_forced_unwind();

// What a body ended with, if not by its end.
[[gnu::cold]] void coroutine_fail(coroutine_frame& frame, std::exception_ptr error) noexcept;
[[noreturn, gnu::cold]] void coroutine_rethrow(coroutine_frame& frame);

// Unwinds a suspended body.
[[gnu::cold]] void coroutine_unwind(coroutine_frame& frame) noexcept;

// A new coroutine on a stack of its own, suspended at the beginning of `loop`, which gets the frame as its
// value, and its backtraces go on in its resumer. Without a loop: a context of rounds, and they end there.
coroutine_frame& coroutine_make(std::size_t stack_size, sennit_entry loop);

// How many idle coroutines a thread keeps; beyond, half go to the process, trimmed.
inline constexpr std::size_t pool_limit = 4096;

coroutine_frame& coroutine_take_slow(std::size_t stack_size);
void coroutine_give_slow(coroutine_frame& frame) noexcept;

// An idle coroutine. Throws std::system_error when memory or mappings ran out.
[[gnu::always_inline]] inline coroutine_frame& coroutine_take(std::size_t stack_size) {
  sennit_pool& pool = sennit_thread_self()->pool;
  auto* frame = static_cast<coroutine_frame*>(pool.first);
  if (stack_size != default_stack_size || frame == nullptr) [[unlikely]] {
    frame = &coroutine_take_slow(stack_size);
  } else {
    pool.first = frame->next;
    ++pool.room;
  }
  renew_identity(frame->identity, frame->record.memory.low, frame->record.memory.size);
  return *frame;
}

// Back to the calling thread's pool. The coroutine must be idle and suspended.
[[gnu::always_inline]] inline void coroutine_give(coroutine_frame& frame) noexcept {
  sennit_pool& pool = sennit_thread_self()->pool;
  if (!frame.usual || pool.room == 0) [[unlikely]] {
    coroutine_give_slow(frame);
    return;
  }
  frame.next = static_cast<coroutine_frame*>(pool.first);
  pool.first = &frame;
  --pool.room;
}

// Enters the coroutine that `frame` leads to. Returns what it hands back.
[[gnu::always_inline]] inline std::uintptr_t coroutine_resume(coroutine_frame& frame, std::uintptr_t value) {
#if defined(SENNIT_SANITIZED)
  frame.resumer_identity = current_identity();
#endif
  const sennit_transfer transfer = swap(frame.context, value, frame.active_identity);
  frame.context = transfer.from;
  return transfer.value;
}

// Goes back to the resumer of `frame`. Returns what the next resume hands in.
[[gnu::always_inline]] inline std::uintptr_t coroutine_leave(coroutine_frame& frame, std::uintptr_t value) {
#if defined(SENNIT_SANITIZED)
  frame.active_identity = current_identity();
#endif
  const sennit_transfer transfer = swap(frame.resumer, value, frame.resumer_identity);
  frame.resumer = transfer.from;
  if (frame.state == coroutine_state::unwinding) [[unlikely]]
    throw_forced_unwind();
  return transfer.value;
}

// Small function objects live in the frame, larger ones in memory of their own.
template <class Body>
inline constexpr bool fits_payload = sizeof(Body) <= payload_size && alignof(Body) <= 16;

template <class Body, class Function>
[[gnu::always_inline]] inline void payload_store(coroutine_frame& frame, Function&& function) {
  if constexpr (fits_payload<Body>)
    ::new (static_cast<void*>(frame.payload)) Body(std::forward<Function>(function));
  else
    ::new (static_cast<void*>(frame.payload)) Body*(new Body(std::forward<Function>(function)));
}

template <class Body>
[[gnu::always_inline]] inline Body& payload_get(coroutine_frame& frame) noexcept {
  if constexpr (fits_payload<Body>)
    return *std::launder(reinterpret_cast<Body*>(frame.payload));
  else
    return **std::launder(reinterpret_cast<Body**>(frame.payload));
}

template <class Body>
[[gnu::always_inline]] inline void payload_destroy(coroutine_frame& frame) noexcept {
  if constexpr (fits_payload<Body>)
    payload_get<Body>(frame).~Body();
  else
    delete &payload_get<Body>(frame);
}

}  // namespace sennit::detail
