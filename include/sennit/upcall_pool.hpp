// sennit::upcall_pool: blocked fibers, without stacks, that are ready to handle events.
// room: rpc
//
//   sennit::upcall_pool pool;                    // in a fiber
//   ...
//   if (!pool.post([job] { job->finish(); }))    // on any thread: a fiber of the pool calls it
//     ...                                        // all are busy, and too many events wait
//
// Source: Draves et al. 1991, section 4 (upcalls by a pool of blocked threads).
#pragma once

#include "sennit/detail/rpc/basic_upcall_pool.hpp"
#include "sennit/detail/sync/shared_waits.hpp"
#include "sennit/fiber.hpp"

namespace sennit {

// Its fibers are of the runtime in which it is made, in a fiber. Any thread may post, also one of another
// runtime or of none, but no signal handler: a post takes a lock, for a few instructions. (A signal_set's
// fiber may.) It is destroyed by a fiber of that runtime, or when that is gone; nobody posts any more then.
// Where the runtime ends first, events that wait are never handled.
class upcall_pool : public detail::basic_upcall_pool<upcall_pool, sennit::fiber, detail::shared_waits> {
  using basic_upcall_pool::basic_upcall_pool;
};

}  // namespace sennit
