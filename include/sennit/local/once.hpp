// sennit::local::once_flag, sennit::local::call_once: calls a function once, by whichever fiber of a local
// runtime comes first.
// room: sync
//
//   static sennit::local::once_flag opened;
//   sennit::local::call_once(opened, [] { open_log(); });  // other fibers wait until it is done
//
// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
#pragma once

#include "sennit/detail/sync/basic_once_flag.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::once_flag, without atomic operations. It belongs to no runtime, but only fibers of one
/// runtime at a time may use it. Outside of fibers it may be used as long as no wait is needed: to wait
/// there ends the program.
class once_flag final : public detail::basic_once_flag<detail::one_thread> {};

/// Like sennit::call_once(), as `sennit::local::call_once(flag, function, arguments...)`.
using detail::call_once;

}  // namespace sennit::inline v0_1::local
