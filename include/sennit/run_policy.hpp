// In which order a runtime runs its fibers.
// room: sched
#pragma once

#include <cstdint>

#include "sennit/detail/arch/cplusplus.hpp"

namespace sennit {

// fifo     each in its turn; the fiber woken last goes first, but not more than 16 times in a row.
// lifo     the one that became ready last goes first: fast for a pair, and starves everybody else.
// hybrid   the first 4 fibers that become ready go first, later ones last, until everybody who was queued
//          when that began has run; then again. Fast for pairs among many, and nobody is starved.
//
// Source: Dolan 2013, section 5.2.
enum class run_policy : std::uint8_t { fifo, lifo, hybrid };

}  // namespace sennit
