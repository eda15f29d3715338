// A coroutine that is reused as a whole: stack, run loop and message box.
//
// The frame lies at the top of the coroutine's stack; the run loop's context lies right below it:
//
//   high  | (colour: unused bytes, so that tops do not share cache sets) |
//         | frame: resumer | context | action | ... | payload            |
//         +---------------------------------------------------------------+ <- &frame: 16-aligned, the run
//         | the run loop, the action's frame, the body's frames ...       |    loop's first frame
//   low   | guard                                                         |
//
// The run loop (a server, arch/native.h) waits for a message (an action), executes it, reports that it is
// finished, and waits again. The resumer that sees it finished returns it to its thread's pool: code never
// publishes the stack on which it runs.
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

namespace sennit::inline v0_1::detail {

inline constexpr std::size_t payload_size = 96;

enum class coroutine_state : std::uint8_t {
  idle,       // in a pool, or finished
  ready,      // has a message that it has not received yet
  active,     // executes it
  unwinding,  // must leave its body by forced unwind, or drop the message
};

class frame_cleanup;
struct local_value;
class stop_link;
struct fiber_records {
  local_value* locals;  // fiber_local.hpp
  stop_link* stops;     // stop.hpp; while it is stoppable
};

struct coroutine_frame {
  sennit_context resumer;  // our last resumer; the backtrace's link: must be the first word
  sennit_round round;      // a fiber's message; must be the second word
  // Where we, or the innermost generator from which we yield, are suspended. While we run, null in debug
  // builds.
  sennit_context context;
  void (*action)(coroutine_frame&);  // the message; must not throw
  union {
    sennit_idle idle;        // in a thread's pool
    std::uintptr_t mail[2];  // a generator's element; a coroutine's first argument, place of its result
    fiber_records own;       // a fiber's
  };
  coroutine_state state;
  std::uint32_t takes;     // room in a pool: 1, or (no stack of the default size) all
  std::uint32_t no_yield;  // a fiber's: the number of obstacles to a forced yield (sched's)
  alignas(16) std::byte payload[payload_size];  // the body's function object, or a pointer to it
  coroutine_frame* next;                        // in other lists
  void* error;              // a std::exception_ptr, by its only word: the exception that ended the body
  coroutine_frame* root;    // our yields go to its resumer: ourselves, or (yield_all) another coroutine
  frame_cleanup* cleanups;  // a fiber's (sched's), innermost first; null in all others
  stack_record record;
  switch_identity identity;           // the rest is for sanitizer builds only:
  switch_identity* active_identity;   // the identity suspended at `context`
  switch_identity* resumer_identity;  // the identity suspended at `resumer`
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

// Keeps the exception that ended a body.
[[gnu::cold]] void coroutine_fail(coroutine_frame& frame, std::exception_ptr error) noexcept;
[[noreturn, gnu::cold]] void coroutine_rethrow(coroutine_frame& frame);

// Unwinds a suspended body, or drops one that never began.
[[gnu::cold]] void coroutine_unwind(coroutine_frame& frame) noexcept;

// Makes a new coroutine on its own stack, suspended at the beginning of `loop`. The loop gets the frame as
// its value, and its backtraces continue in its resumer. Without a loop, makes a context of rounds, where
// backtraces end.
coroutine_frame& coroutine_make(const stack_source& stack, sennit_entry loop);

// How many idle coroutines a thread keeps. Beyond this, it trims half of them and gives them to the process.
inline constexpr std::uint32_t pool_limit = 4096;

coroutine_frame& coroutine_take_slow(std::size_t size, std::byte* memory, std::size_t guard);
void coroutine_give_slow(coroutine_frame& frame) noexcept;

SENNIT_INLINE coroutine_frame* coroutine_of(sennit_idle* idle) noexcept {
  return reinterpret_cast<coroutine_frame*>(reinterpret_cast<char*>(idle) - offsetof(coroutine_frame, idle));
}

// Returns an idle coroutine. Throws std::system_error if memory or mappings run out.
SENNIT_INLINE coroutine_frame& coroutine_take(stack_request stack) {
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

// Returns a coroutine to the calling thread's pool. It must be idle and suspended. Each one counts the room
// that is left above it. If the pool counted, every take and give would write the count, and the next one
// would read it.
inline void coroutine_give(coroutine_frame& frame) noexcept {
  sennit_pool& pool = sennit_thread_self()->pool;
  if (pool.first->room < frame.takes) [[unlikely]] {
    coroutine_give_slow(frame);
    return;
  }
  frame.idle = {pool.first, pool.first->room - frame.takes};
  pool.first = &frame.idle;
}

// Whether a resumed body must look into its frame: it may have to unwind, and its yields may go elsewhere
// now. Otherwise it yields to its last resumer.
enum class resume_as : bool { same, changed };

// Enters the coroutine to which `frame` leads, and passes `value`. Returns its word when it suspends itself.
// If it has finished instead, `from` is null.
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

// A body's way back to its resumer. It yields to its last resumer, which comes in a register at each resume.
// In an inlined body it never goes through memory, which would cost more than the switch.
class way_back {
public:
  explicit way_back(coroutine_frame& frame) : frame_(&frame), resumer_(frame.root->resumer) {}

  coroutine_frame& root() const noexcept { return *frame_->root; }

  // Goes back with a value. Returns the value of the next resume.
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

  // Others may have yielded to our resumer, or we may have to unwind.
  void look() {
    resumer_ = root().resumer;
    if (root().state == coroutine_state::unwinding)
      throw_forced_unwind();
  }

private:
  coroutine_frame* frame_;
  sennit_context resumer_;
};

// The last step of an action.
SENNIT_INLINE void action_ends([[maybe_unused]] coroutine_frame& frame) noexcept {
#if !defined(SENNIT_SANITIZED) && !defined(SENNIT_BACKEND_PORTABLE)
  sennit_server_leave(reinterpret_cast<sennit_server*>(&frame));
#endif
}

// Small function objects are stored in the frame, larger ones in separate memory.
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

}  // namespace sennit::inline v0_1::detail
