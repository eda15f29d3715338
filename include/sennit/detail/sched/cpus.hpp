// How many CPUs there are for us.
#pragma once

namespace sennit::detail {

// On how many CPUs this thread may run; at least 1.
unsigned allowed_cpus();

// How many workers keep busy what we are given: allowed_cpus(), or fewer where the cgroup's quota of CPU time
// is used up by fewer. At least 1. What cannot be read, or makes no sense, is no limit.
unsigned usable_cpus();

// The same, for tests: of so many allowed ones, with /proc and /sys below another root.
unsigned usable_cpus(const char* root, unsigned allowed);

}  // namespace sennit::detail
