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
//
//   upcall_pool(upcall_options = {})
//                  starts its fibers, which have no stack while they are idle. Throws std::bad_alloc.
//   post(handler)  has one of them call handler(), or handler(upcall_pool&); neither waits nor throws. False:
//                  it was not taken, for all are busy and as many events wait as may, or the pool is closed.
//   idle()         a continuation: the fiber is the pool's again. For handlers that return one.
//   close()        no more events: post() returns false. What was posted before is still done. May be
//                  repeated. By whoever may post.
//   ~upcall_pool() closes it, and waits until all that was posted is done.
//
// A handler is copied byte by byte: a function, or a lambda whose captures are trivially copyable, of 32
// bytes at most. It may wait, as any fiber may. To do so without a stack it returns a continuation; the last
// of its functions returns pool.idle(), or the pool has one fiber less:
//
//   pool.post([stream](sennit::upcall_pool& pool) {
//     return sennit::become(stream->reading(), [stream, &pool] { return take(stream), pool.idle(); });
//   });
//
// What a handler throws ends the program.
class upcall_pool : public detail::basic_upcall_pool<upcall_pool, sennit::fiber, detail::shared_waits> {
  using basic_upcall_pool::basic_upcall_pool;
};

}  // namespace sennit
