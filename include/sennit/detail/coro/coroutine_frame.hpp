// A coroutine kept whole: stack, run loop and message box, reused without making any of them anew.
//
// The frame lies at the top of the coroutine's stack; the run loop's context lies right below it:
//
//   high  | (colour: unused bytes, so that tops do not share cache sets) |
//         | frame: resumer | context | action | ... | payload            |
//         +---------------------------------------------------------------+ <- &frame: 16-aligned, the run
//         | the run loop, the action's frame, the body's frames ...       |    loop's first frame
//   low   | guard                                                         |
//
// The run loop (a server, arch/native.h) waits for a message (an action), executes it, says that it is
// finished, and waits again. Who sees it finished puts it back into its thread's pool: a stack is never
// published by code that runs on it.
//
// Source: RethinkDB, "Making coroutines fast": reusing coroutines. Dolan 2013, section 4.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/context.h"
#include "sennit/detail/arch/exceptions.hpp"
#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/thread.h"
#include "sennit/detail/stack/sanitizer.hpp"
#include "sennit/detail/stack/stack.hpp"

namespace sennit::detail {

inline constexpr std::size_t payload_size = 96;

enum class coroutine_state : std::uint8_t {
  idle,       // in a pool, or finished
  ready,      // has a message that it does not know of yet
  active,     // executes it
  unwinding,  // told to leave its body by forced unwind; or to drop the message
};

class frame_cleanup;
struct local_value;
class stop_link;
struct fiber_records {
  local_value* locals;  // fiber_local.hpp
  stop_link* stops;     // stop.hpp; while it is stoppable
};

struct coroutine_frame {
  sennit_context resumer;  // who resumed us last; the backtrace's link: must be the first word
  sennit_round round;      // a fiber's message; must be the second word
  // Where we, or the innermost generator that we yield from, are suspended. In debug builds null meanwhile.
  sennit_context context;
  void (*action)(coroutine_frame&);  // the message; must not throw
  union {
    sennit_idle idle;        // in a thread's pool
    std::uintptr_t mail[2];  // a generator's element; a coroutine's first argument, place of its result
    fiber_records own;       // a fiber's
  };
  coroutine_state state;
  std::uint32_t takes;                          // room in a pool: 1, or (no stack of the default size) all
  std::uint32_t no_yield;                       // a fiber's: what keeps it from being made to yield (sched's)
  alignas(16) std::byte payload[payload_size];  // the body's function object, or a pointer to it
  coroutine_frame* next;                        // in other lists
  void* error;              // a std::exception_ptr, by its only word: what the body ended with
  coroutine_frame* root;    // whose resumer our yields go to: ourselves, or (yield_all) another
  frame_cleanup* cleanups;  // a fiber's (sched's), innermost first; null in all others
  stack_record record;
  switch_identity identity;           // the rest is for sanitizer builds only:
  switch_identity* active_identity;   // who is suspended at `context`
  switch_identity* resumer_identity;  // who is suspended at `resumer`
};

#if defined(SENNIT_SANITIZED) || defined(SENNIT_BACKEND_PORTABLE)
static_assert(offsetof(coroutine_frame, resumer) == 0);
static_assert(offsetof(coroutine_frame, round) == sizeof(void*));
#else
static_assert(offsetof(coroutine_frame, resumer) == offsetof(sennit_server, resumer) &&
              offsetof(coroutine_frame, round) == offsetof(sennit_server, round) &&
              offsetof(coroutine_frame, context) == offsetof(sennit_server, context) &&
              offsetof(coroutine_frame, action) == offsetof(sennit_server, action));
#endif

// Thrown through a body that is destroyed before its end. A body may catch (...) but must rethrow.
struct forced_unwind {};

[[noreturn, gnu::cold]] void throw_forced_unwind();

// What a body ended with, if not by its end.
[[gnu::cold]] void coroutine_fail(coroutine_frame& frame, std::exception_ptr error) noexcept;
[[noreturn, gnu::cold]] void coroutine_rethrow(coroutine_frame& frame);

// Unwinds a suspended body, or drops one that never began.
[[gnu::cold]] void coroutine_unwind(coroutine_frame& frame) noexcept;

// A new coroutine on a stack of its own, suspended at the beginning of `loop`, which gets the frame as its
// value, and its backtraces go on in its resumer. Without a loop: a context of rounds, and they end there.
coroutine_frame& coroutine_make(const stack_source& stack, sennit_entry loop);

// How many idle coroutines a thread keeps; beyond, half go to the process, trimmed.
inline constexpr std::uint32_t pool_limit = 4096;

coroutine_frame& coroutine_take_slow(std::size_t size, std::byte* memory, std::size_t guard);
void coroutine_give_slow(coroutine_frame& frame) noexcept;

SENNIT_INLINE coroutine_frame* coroutine_of(sennit_idle* idle) noexcept {
  return reinterpret_cast<coroutine_frame*>(reinterpret_cast<char*>(idle) - offsetof(coroutine_frame, idle));
}

// An idle coroutine. Throws std::system_error when memory or mappings ran out.
SENNIT_INLINE coroutine_frame& coroutine_take(stack_wish stack) {
  sennit_pool& pool = sennit_thread_self()->pool;
  sennit_idle* const first = pool.first;
  sennit_idle* const next = first->next;
  coroutine_frame* frame = coroutine_of(first);
  if (stack.size != default_stack_size || stack.memory != nullptr || next == nullptr) [[unlikely]]
    frame = &coroutine_take_slow(stack.size, stack.memory, stack.guard);
  else
    pool.first = next;
  renew_identity(frame->identity, frame->record.memory.low, frame->record.memory.size);
  return *frame;
}

// Back to the calling thread's pool. The coroutine must be idle and suspended. Each counts the room that is
// left above it: a count in the pool would be written by every take and give, and read by the next.
inline void coroutine_give(coroutine_frame& frame) noexcept {
  sennit_pool& pool = sennit_thread_self()->pool;
  if (pool.first->room < frame.takes) [[unlikely]] {
    coroutine_give_slow(frame);
    return;
  }
  frame.idle = {pool.first, pool.first->room - frame.takes};
  pool.first = &frame.idle;
}

// Whether a resumed body is to look into its frame: it may have to unwind, and whom it yields to may have
// changed. Otherwise it yields to who resumed it.
enum class resume_as : bool { same, changed };

// Enters the coroutine that `frame` leads to, which gets `value`. Returns what it hands back when it suspends
// itself; `from` is null when it has finished instead.
SENNIT_INLINE sennit_transfer coroutine_resume(coroutine_frame& frame, std::uintptr_t value,
                                               [[maybe_unused]] resume_as how) {
#if defined(NDEBUG)
  const sennit_context target = frame.context;
#else
  const sennit_context target = std::exchange(frame.context, nullptr);
  assert(target != nullptr && "sennit: a coroutine that is running was resumed");
#endif
#if defined(SENNIT_SANITIZED)
  frame.resumer_identity = current_identity();
  sennit_transfer transfer = swap(target, value, frame.active_identity);
  frame.context = transfer.from;
  if (frame.state == coroutine_state::idle)
    transfer.from = nullptr;
  return transfer;
#else
  const sennit_transfer transfer = how == resume_as::same
                                       ? sennit_swapstack_linking(target, value, &frame.resumer)
                                       : sennit_swapstack_filed(target, value, &frame.resumer);
  if (transfer.from != nullptr) [[likely]]
    frame.context = transfer.from;
  else
    frame.state = coroutine_state::idle;
  return transfer;
#endif
}

// A body's way back to its resumer. Who resumed it last is whom it yields to, and comes in a register at each
// resume: in a body that is inlined it never goes through memory, which would cost more than the switch.
class way_back {
public:
  explicit way_back(coroutine_frame& frame) : frame_(&frame), resumer_(frame.root->resumer) {}

  coroutine_frame& root() const noexcept { return *frame_->root; }

  // Goes back with a value. Returns what the next resume hands in.
  SENNIT_INLINE std::uintptr_t leave(std::uintptr_t value) {
#if defined(SENNIT_SANITIZED)
    coroutine_frame& left = root();
    left.active_identity = current_identity();
    const sennit_transfer transfer = swap(resumer_, value, left.resumer_identity);
    left.resumer = transfer.from;
    look();
#else
    const sennit_transfer transfer = sennit_swapstack(resumer_, value);
    resumer_ = transfer.from;
    if (transfer.from == nullptr) [[unlikely]]
      look();
#endif
    return transfer.value;
  }

  // Others may have yielded to our resumer, or he may have told us to unwind.
  void look() {
    resumer_ = root().resumer;
    if (root().state == coroutine_state::unwinding)
      throw_forced_unwind();
  }

private:
  coroutine_frame* frame_;
  sennit_context resumer_;
};

// The last that an action does.
SENNIT_INLINE void action_ends([[maybe_unused]] coroutine_frame& frame) noexcept {
#if !defined(SENNIT_SANITIZED) && !defined(SENNIT_BACKEND_PORTABLE)
  sennit_server_leave(reinterpret_cast<sennit_server*>(&frame));
#endif
}

// Small function objects live in the frame, larger ones in memory of their own.
template <class Body>
inline constexpr bool fits_payload = sizeof(Body) <= payload_size && alignof(Body) <= 16;

template <class Body, class Function>
SENNIT_INLINE void payload_store(coroutine_frame& frame, Function&& function) {
  if constexpr (fits_payload<Body>)
    ::new (static_cast<void*>(frame.payload)) Body(std::forward<Function>(function));
  else
    ::new (static_cast<void*>(frame.payload)) Body*(new Body(std::forward<Function>(function)));
}

template <class Body>
SENNIT_INLINE Body& payload_get(coroutine_frame& frame) noexcept {
  if constexpr (fits_payload<Body>)
    return *std::launder(reinterpret_cast<Body*>(frame.payload));
  else
    return **std::launder(reinterpret_cast<Body**>(frame.payload));
}

template <class Body>
SENNIT_INLINE void payload_destroy(coroutine_frame& frame) noexcept {
  if constexpr (fits_payload<Body>)
    payload_get<Body>(frame).~Body();
  else
    delete &payload_get<Body>(frame);
}

}  // namespace sennit::detail
