// What leaving a fiber's frames for good and a yield that does not come back have in common (discard.cpp).
#pragma once

#include "sennit/detail/sched/spawn.hpp"

namespace sennit::detail {

// All frames but the first have been left: destroys the function object, if it is there still, and goes on.
[[noreturn]] void leave_unwound(coroutine_frame& frame, body_destroyer destroy, continuation&& next) noexcept;

// Whether the frames of the running fiber could be left by leave_frames() without harm: of the callers of the
// function whose __builtin_dwarf_cfa() `frame` is, none may have anything to destroy.
bool could_leave_frames(const fiber& self, const void* frame) noexcept;

}  // namespace sennit::detail
