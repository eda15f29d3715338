// Stack overflow ends with a report that names the fiber or coroutine, its stack size and depth, instead of
// a bare segmentation fault (or silent corruption: that the guard page prevents).
//
// The handler runs on an alternate stack of the thread, only reports, and hands every fault that is not an
// overflow to the handler that was there before. It works for a plain generator with no runtime.
#pragma once

namespace sennit::detail {

// Makes the calling thread able to report (an alternate signal stack, unless it has one) and installs the
// process's handler once. Cheap when done already. Never fails: without memory the fault stays bare.
// Whoever makes a stack calls it; from then on it is called by itself on every thread that switches for the
// first time, so that a thread that is handed a generator reports, too.
void fault_watch_thread() noexcept;

}  // namespace sennit::detail
