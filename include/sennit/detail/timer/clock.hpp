// The clock of all deadlines.
#pragma once

#include "sennit/detail/timer/chrono.hpp"
#include "sennit/no_deadline.hpp"

namespace sennit::inline v0_1::detail {

using clock = std::chrono::steady_clock;
using time_point = clock::time_point;
inline constexpr time_point never = no_deadline;

}  // namespace sennit::inline v0_1::detail
