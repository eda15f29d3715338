// A fiber that has not begun needs no stack: until it is entered for the first time, its descriptor holds its
// function, where a fiber that has given up its stack keeps its continuation. Larger functions lie in a
// continuation_overflow. So a hundred thousand fibers that each run briefly need one stack, not a hundred
// thousand.
//
// A new fiber that finds a finished one with a stack takes that one's place, and needs nothing of this file.
//
//   fiber_begin -> begin_later: queued ... entered: entering -> stack_for -> first_round, on the new stack:
//   the function moves there -> the usual round
//
// If there is no memory for a stack, the fiber waits until another fiber's stack is free, and tries again
// every millisecond. If no fiber of the runtime can free one, it fails: joining it throws
// (refused_fibers.hpp).
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "sennit/detail/sched/faults_are_fatal.hpp"
#include "sennit/detail/sched/worker.hpp"

namespace sennit::inline v0_1::detail {

// The code of a fiber that has not begun.
struct first_code : wait_site {
  sennit_round round;
};
inline first_code& first_code_of(fiber& f) noexcept {
  return static_cast<first_code&>(*f.site);
}

// Whether a function can move from the descriptor to the stack. It must not throw then, since no caller of
// spawn is left to catch it.
template <class Body>
inline constexpr bool begins_later = !fits_payload<Body> || std::is_nothrow_move_constructible_v<Body>;

// The payload of the fiber's stack: the function, or a pointer to it (coroutine_frame.hpp).
template <class Body>
using payload_of = std::conditional_t<fits_payload<Body>, Body, Body*>;
template <class Body>
inline constexpr bool fits_descriptor = sizeof(payload_of<Body>) <= continuation_room;

// Returns a new descriptor, with an overflow of `size` bytes if that is not 0. Throws as fiber_spawn.
fiber& first_make(sennit_worker& home, std::size_t size);
// The function's copy has thrown.
[[gnu::cold]] void first_drop(fiber& f) noexcept;
// The fiber gets the stack on which it stands.
void first_attach(fiber& f, coroutine_frame& frame) noexcept;
// Moves the function to the stack on which the fiber begins, and continues with the usual round.
template <class Body, sennit_round usual>
sennit_decision first_round(void* top) noexcept {
  auto& frame = *static_cast<coroutine_frame*>(top);
  fiber& self = current_fiber();
  continuation_overflow* const overflow = self.overflow;
  void* const place = fits_descriptor<Body> ? self.room() : overflow->room();
  auto& kept = *std::launder(static_cast<payload_of<Body>*>(place));
  {
    const switches_refused<has_nontrivial_move<payload_of<Body>>, switch_in::function> meanwhile;
    ::new (static_cast<void*>(frame.payload)) payload_of<Body>(std::move(kept));
    kept.~payload_of<Body>();
  }
  first_attach(self, frame);
  if constexpr (!fits_descriptor<Body>)
    continuation_overflow::destroy(overflow);
  frame.round = usual;
  if constexpr (direct_entry)
    return sennit_round_leave({frame.context, 0});  // no frame of ours stays above the function's
  return frame.round(top);
}

template <class Body, sennit_round usual, class Function>
[[gnu::noinline]] fiber& begin_later_from(sennit_worker& home, Function&& function, bool owned) {
  static constinit first_code code{{"begin", nullptr}, first_round<Body, usual>};
  fiber& f = first_make(home, fits_descriptor<Body> ? 0 : sizeof(payload_of<Body>));
  void* const place = fits_descriptor<Body> ? f.room() : f.overflow->room();
  try {
    if constexpr (fits_payload<Body>)
      ::new (place) Body(std::forward<Function>(function));
    else
      ::new (place) Body*(new Body(std::forward<Function>(function)));
  } catch (...) {
    first_drop(f);
    throw;
  }
  f.site = &code;
  f.id = 0;
  f.flags = {.status = fiber_status::begins, .owned = owned, .stackless = not_begun};
  return f;
}
// Makes a fiber that begins later. It is not ready yet. Throws as fiber_spawn, and what copying the function
// throws. (A simple function is copied, so that only this call needs it in memory: where a fiber begins at
// once, it stays in registers.)
template <class Body, sennit_round usual, class Function>
SENNIT_INLINE fiber& begin_later(sennit_worker& home, Function&& function, bool owned) {
  if constexpr (std::is_trivially_copyable_v<Body>)
    return begin_later_from<Body, usual>(home, Body(function), owned);
  else
    return begin_later_from<Body, usual>(home, std::forward<Function>(function), owned);
}

}  // namespace sennit::inline v0_1::detail
