// How many CPUs the process may use.
#pragma once

namespace sennit::inline v0_1::detail {

// Returns on how many CPUs this thread may run; at least 1.
unsigned allowed_cpus();

// Returns how many workers keep the available CPUs busy: allowed_cpus(), or fewer if the cgroup's quota of
// CPU time is lower. At least 1. A quota that cannot be read, or makes no sense, is no limit.
unsigned usable_cpus();

// For tests: with `allowed` CPUs, and with /proc and /sys below another root.
unsigned usable_cpus(const char* root, unsigned allowed);

}  // namespace sennit::inline v0_1::detail
