// Whether this process is the one in which an object was made.
#pragma once

namespace sennit::inline v0_1::detail {

// How many forks lie between the program's start and this process. A runtime is unusable in a child: it
// shares its descriptors with the parent, and fibers that run in both would do everything twice. The child
// may exec, or make its own runtimes.
unsigned process_generation() noexcept;

}  // namespace sennit::inline v0_1::detail
