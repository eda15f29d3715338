// The one handler for the fault signals (SIGSEGV, SIGBUS, SIGILL, SIGFPE), on an alternate stack of the
// thread.
//
// Faults of a fiber's or a coroutine's own code go to its hook (hook.hpp). All other faults, and those
// without a hook, are reported with the name of the fiber or coroutine, and go to the handler that was
// installed before ours. For a stack overflow the report names the stack's size and the depth; the guard page
// prevents silent corruption. It works for a plain generator with no runtime.
#pragma once

#include <atomic>

#include "sennit/detail/stack/stack.hpp"

namespace sennit::inline v0_1::detail {

// Returns the record of the stack of the fiber that runs on the calling thread, or null. Set by sched, for
// reports.
inline constinit std::atomic<const stack_record* (*)() noexcept> fault_running_fiber{nullptr};

// Makes the calling thread able to handle faults (an alternate signal stack, unless it has one) and installs
// the process's handler once. Cheap when done already. Returns an errno, or 0: without memory the thread has
// no alternate stack, and the next call tries again.
int fault_watch_thread() noexcept;
// Like fault_watch_thread(), for callers that make a stack. Throws std::system_error.
void fault_must_watch_thread();
// A thread that switches for the first time without having made a stack (it was handed a generator) calls
// fault_watch_thread(), too. That switch cannot fail; a message on standard error reports a failure.

}  // namespace sennit::inline v0_1::detail
