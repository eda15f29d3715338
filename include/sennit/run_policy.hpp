// In which order a runtime runs its fibers.
// room: sched
#pragma once

#include <cstdint>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit {

// fifo     each in its turn; the fiber woken last goes first, but not more than 16 times in a row while
//          others wait.
// lifo     the one that became ready last goes first: fast for a pair, and starves everybody else.
// hybrid   the fiber woken last, or the one that gave way, goes first, 128 times (more where more than 64
//          wait: twice as often as there are); then everybody who is queued runs once; then again. Fast for
//          pairs among many, and for many of which a few fit the cache; and nobody is starved.
//
// Source: Dolan 2013, section 5.2. Its hybrid is not the same to the letter: there whatever is added goes to
// the head, new fibers, too, one before the other, a fixed few times. So it took 1.12 to 1.15 times as long
// as fifo where few fibers can run; ours takes no longer there, and less among many (workload `policy`,
// bench/README.md).
enum class run_policy : std::uint8_t { fifo, lifo, hybrid };

}  // namespace sennit
