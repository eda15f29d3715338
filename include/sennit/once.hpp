// sennit::once_flag, sennit::call_once: something that is done once, by whoever comes first.
// room: sync
//
//   static sennit::once_flag opened;
//   sennit::call_once(opened, [] { open_log(); });  // others wait until it is done
#pragma once

#include "sennit/detail/sync/basic_once_flag.hpp"
#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit {

// As std::once_flag: what call_once() keeps. It has no members but a constexpr constructor.
class once_flag : public detail::basic_once_flag<detail::wait_queue> {};

// call_once(once_flag&, function, arguments...), as std::call_once: calls function(arguments...) unless that
// was done with the flag before; its result is ignored. Who comes while it is being called waits until it
// has returned. If it throws, that comes out of the call that has made it, and the next one tries. It may
// block.
//
//   threads  Any, and fibers of any runtime. (A fiber of a local runtime blocks its thread.)
//   errors   A wait throws sennit::cancelled where a stop is requested (stop_guard.hpp).
//   misuse   Fatal: a call with the same flag inside the function. To destroy the flag while a fiber or
//   thread
//            waits for it.
//
// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
using detail::call_once;

}  // namespace sennit
