// sennit::run_policy: the order in which a runtime runs its fibers.
// room: sched
#pragma once

#include <cstdint>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit::inline v0_1 {

/// The order in which a worker runs its ready fibers.
///
/// - fifo: in the order in which they became ready. The fiber woken last runs first, but at most 16 times
///   in a row while others wait.
/// - lifo: the fiber that became ready last runs first. It is fast for a pair of fibers, and starves all
///   others.
/// - hybrid: the fiber that was woken last, or that yielded, runs first, 128 times. If more than 64 fibers
///   wait, it does so twice as often as there are waiting fibers. Then each queued fiber runs once, and the
///   cycle begins again. It is fast for pairs among many, and for many fibers of which a few fit the cache.
///   No fiber starves.
///
/// Source: Dolan 2013, section 5.2. There the hybrid policy differs in detail: each fiber that is added,
/// new or woken, goes to the head, a fixed number of times. That took 1.12 to 1.15 times as long as fifo if
/// few fibers can run. This one takes no longer than fifo there, and less among many (workload `policy`,
/// bench/README.md).
enum class run_policy : std::uint8_t { fifo, lifo, hybrid };

}  // namespace sennit::inline v0_1
