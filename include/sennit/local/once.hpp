// sennit::local::once_flag, sennit::local::call_once: something that is done once, by whichever fiber of a
// local runtime comes first.
// room: sync
//
//   static sennit::local::once_flag opened;
//   sennit::local::call_once(opened, [] { open_log(); });  // other fibers wait until it is done
//
// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
#pragma once

#include "sennit/detail/sync/basic_once_flag.hpp"
#include "sennit/detail/sync/local_wait_queue.hpp"

namespace sennit::local {

// As std::once_flag: if the function throws, or its fiber is told to leave in it, the next one tries. The
// function may block.
//
//   threads  It belongs to no runtime, but all its users must be fibers of one runtime at a time. Outside of
//            fibers it may be used as long as nobody has to wait: to wait there ends the program.
//   misuse   To call it once more in the function waits forever. To destroy it while somebody waits.
class once_flag : public detail::basic_once_flag<detail::local_wait_queue> {};

// call_once(once_flag&, function, arguments...), as std::call_once.
using detail::call_once;

}  // namespace sennit::local
