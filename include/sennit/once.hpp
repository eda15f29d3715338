// sennit::once_flag, sennit::call_once: something that is done once, by whoever comes first.
// room: sync
//
//   static sennit::once_flag opened;
//   sennit::call_once(opened, [] { open_log(); });  // others wait until it is done
#pragma once

#include "sennit/detail/sync/basic_once_flag.hpp"
#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit {

// As std::once_flag: if the function throws, the next one tries.
class once_flag : public detail::basic_once_flag<detail::wait_queue> {};

// call_once(once_flag&, function, arguments...), as std::call_once.
using detail::call_once;

}  // namespace sennit
