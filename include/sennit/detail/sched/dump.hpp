// The dump of a process that may have come to a deadlock.
#pragma once

namespace sennit::detail {

// Holds all workers; if rests(argument) then says that all of them rest, and all fibers wait for one another
// or for threads outside, prints that, and all fibers, to standard error; `only_cycles`: if there is a cycle.
// False: they do not rest just now, or a worker could not be held, so that it is not known. Not for a
// worker's thread. Throws std::bad_alloc and std::system_error.
bool report_deadlock(bool only_cycles, bool (*rests)(void* argument) noexcept, void* argument);

}  // namespace sennit::detail
