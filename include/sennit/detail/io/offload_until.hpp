// Offloading with a deadline.
#pragma once

#include <memory>

#include "sennit/detail/io/offload.hpp"

namespace sennit::inline v0_1::detail {

// Like offload_run(), but gives up at the deadline, and at once by forced unwind: returns false, and deletes
// the job.
bool offload_run_until(std::unique_ptr<offload_job>& job, time_point deadline);

}  // namespace sennit::inline v0_1::detail
