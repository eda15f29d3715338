// sennit::upcall_pool: idle fibers, without stacks, that handle events.
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
#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/fiber.hpp"

namespace sennit::inline v0_1 {

/// A fixed number of idle fibers without stacks, which handle events. No fiber starts or ends for an event,
/// and nothing is allocated.
///
/// \code
///   upcall_pool pool(options);      // .fibers, .events: upcall_options.hpp
///   bool pool.post(handler);        // does not wait or throw; false: all are busy and the queue is full,
///                                   // or closed
///   continuation pool.idle();       // what the last continuation of a handler returns
///   void pool.close();              // post() returns false from now on; posted handlers still run
///   void pool.ends_with_runtime();  // before it is destroyed after its runtime
///   ~upcall_pool();                 // closes it, and waits for all posted handlers
/// \endcode
///
/// The handler is called as `handler()` or `handler(pool)`. It is copied byte by byte: a function, or a
/// lambda of at most 32 bytes whose captures are trivially copyable. An exception that leaves it ends the
/// program.
///
/// A fiber makes the pool, and the pool's fibers belong to that fiber's runtime. Any thread may post, also
/// one of another runtime, but not a signal handler, because a post takes a lock for a few instructions.
/// (The fiber of a signal_set may.) A fiber of that runtime destroys the pool, or any thread after the
/// runtime has ended; nothing may post to it then. If the runtime ends first, queued events are never
/// handled.
///
/// \code
///   pool.post([stream](sennit::upcall_pool& pool) {
///     return sennit::become(stream->reading(), [stream, &pool] { return take(stream), pool.idle(); });
///   });
/// \endcode
///
/// Source: Draves et al. 1991, section 4.
class upcall_pool final : public detail::basic_upcall_pool<upcall_pool, sennit::fiber, detail::any_thread> {
  using basic_upcall_pool::basic_upcall_pool;
};

}  // namespace sennit::inline v0_1
