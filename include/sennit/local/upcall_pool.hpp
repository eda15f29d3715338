// sennit::local::upcall_pool: sennit::upcall_pool for the fibers of one local runtime.
// room: rpc
//
//   sennit::local::upcall_pool pool;
//   if (!pool.post([job] { job->finish(); }))  // a fiber of the pool calls it
//     ...
//
// Source: Draves et al. 1991, section 4 (upcalls by a pool of blocked threads).
#pragma once

#include "sennit/detail/rpc/basic_upcall_pool.hpp"
#include "sennit/detail/sync/one_thread.hpp"
#include "sennit/local/fiber.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::upcall_pool, with the same members and results, for the fibers of one local runtime, in which
/// it is made, used and destroyed. If the runtime ends first, queued events are never handled.
class upcall_pool final : public detail::basic_upcall_pool<upcall_pool, local::fiber, detail::one_thread> {
  using basic_upcall_pool::basic_upcall_pool;
};

}  // namespace sennit::inline v0_1::local
