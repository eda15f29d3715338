// Shared by two ways to leave a fiber's frames: permanently, and by a yield that does not return
// (discard.cpp).
#pragma once

#include "sennit/detail/sched/spawn.hpp"

namespace sennit::inline v0_1::detail {

// All frames except the first were left. Destroys the function object if it still exists, and continues.
[[noreturn]] void leave_unwound(coroutine_frame& frame, body_destroyer destroy, continuation&& next) noexcept;

// Returns whether leave_frames() could leave the running fiber's frames without harm. No caller of the
// function whose __builtin_dwarf_cfa() `frame` is may have anything to destroy.
bool could_leave_frames(const fiber& self, const void* frame) noexcept;

}  // namespace sennit::inline v0_1::detail
