// sennit::once_flag, sennit::call_once: calls a function once, by whichever fiber or thread comes first.
// room: sync
//
//   static sennit::once_flag opened;
//   sennit::call_once(opened, [] { open_log(); });  // others wait until it is done
#pragma once

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_once_flag.hpp"

namespace sennit::inline v0_1 {

/// Like `std::once_flag`: the state of call_once(). It has no members except a constexpr constructor.
///
/// To destroy it while a fiber or thread waits for it is misuse.
class once_flag final : public detail::basic_once_flag<detail::any_thread> {};

/// Like `std::call_once`: `sennit::call_once(flag, function, arguments...)` calls the function, unless a call
/// with this flag has returned before. It ignores the function's result. The function may block.
///
/// - Calls that come while the function runs wait until it has returned.
/// - Errors: if the function throws, the exception leaves the call that made it, and the next caller calls
///   its own function.
/// - Cancellation: a wait throws sennit::cancelled if a stop_guard ends it. The function of that caller is
///   not called.
/// - Threads: any, and fibers of any runtime. A fiber of a local runtime blocks its thread.
/// - Misuse: a call with the same flag inside the function is fatal.
///
/// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
using detail::call_once;

}  // namespace sennit::inline v0_1
