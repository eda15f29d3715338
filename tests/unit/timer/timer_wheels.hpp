// Common parts of the tests of the wheel of deadlines.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "sennit/detail/timer/timer_wheel.hpp"

namespace timer_wheel_test {

using namespace std::chrono_literals;
using sennit::detail::never;
using sennit::detail::time_point;
using sennit::detail::timer_node;
using sennit::detail::timer_wheel;
using std::chrono::nanoseconds;

inline constexpr time_point start{1000h};

inline std::int64_t tick_of(time_point when) {
  return when.time_since_epoch().count() >> timer_wheel::tick_bits;
}

// By no more than there is time.
inline time_point later(time_point from, nanoseconds by) {
  return by > never - std::max(from, time_point()) ? never : from + by;
}

}  // namespace timer_wheel_test
