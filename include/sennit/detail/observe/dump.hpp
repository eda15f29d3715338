// The dump of a process that may have come to a deadlock.
#pragma once

namespace sennit::inline v0_1::detail {

// Holds all workers, then calls rests(argument). If it returns true, and all fibers wait for each other or
// for outside threads, prints that and all fibers to standard error. With `only_cycles`, this requires a
// cycle. Returns false if they do not rest at this moment, or if a worker could not be held. Must not run on
// a worker's thread. Throws std::bad_alloc and std::system_error.
bool report_deadlock(bool only_cycles, bool (*rests)(void* argument) noexcept, void* argument);

}  // namespace sennit::inline v0_1::detail
