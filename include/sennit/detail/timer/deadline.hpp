// Deadlines of the steady clock, from durations and from times of any clock.
#pragma once

#include <cstdint>
#include <ratio>

#include "sennit/detail/timer/chrono.hpp"
#include "sennit/no_deadline.hpp"

namespace sennit::inline v0_1::detail {

// Returns the time in nanoseconds, rounded up. Beyond 291 years, either way, the result is the largest or the
// smallest value: std::chrono::duration_cast is undefined for such a duration.
template <class Rep, class Period>
constexpr std::chrono::nanoseconds saturated(std::chrono::duration<Rep, Period> time) noexcept {
  using std::chrono::nanoseconds;
  constexpr double most = 9.2e9;
  const double seconds = std::chrono::duration<double>(time).count();
  if (seconds >= most)
    return nanoseconds::max();
  if (!(seconds > -most))  // also where it is not a number
    return nanoseconds::min();
  using scale = std::ratio_divide<Period, std::nano>;
  if constexpr (scale::num != 1 && scale::den != 1) {
    // For a unit such as 1001/30000 s, the integer conversion multiplies first, and could overflow.
    return std::chrono::ceil<nanoseconds>(std::chrono::duration<double>(time));
  } else {
    return std::chrono::ceil<nanoseconds>(time);
  }
}

// Returns `since` plus `time`, or no_deadline if the clock cannot represent it.
constexpr std::chrono::steady_clock::time_point later(std::chrono::steady_clock::time_point since,
                                                      std::chrono::nanoseconds time) noexcept {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(std::int64_t{since.time_since_epoch().count()}, std::int64_t{time.count()},
                             &sum))
    return time.count() < 0 ? std::chrono::steady_clock::time_point::min() : no_deadline;
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(sum));
}

// Returns the deadline of a wait that begins now and takes at most `time`. All durations become deadlines
// here.
template <class Rep, class Period>
std::chrono::steady_clock::time_point deadline_after(std::chrono::duration<Rep, Period> time) noexcept {
  const std::chrono::nanoseconds wait = saturated(time);
  return wait == std::chrono::nanoseconds::max() ? no_deadline
                                                 : later(std::chrono::steady_clock::now(), wait);
}

// Returns how far away `time` is, by its own clock.
template <class Clock, class Duration>
std::chrono::nanoseconds time_until(std::chrono::time_point<Clock, Duration> time) noexcept {
  const std::chrono::nanoseconds then = saturated(time.time_since_epoch());
  const std::chrono::nanoseconds now = saturated(Clock::now().time_since_epoch());
  if (then == std::chrono::nanoseconds::max())
    return then;
  if (then <= now)
    return std::chrono::nanoseconds::zero();
  std::int64_t left = 0;
  if (__builtin_sub_overflow(std::int64_t{then.count()}, std::int64_t{now.count()}, &left))
    return std::chrono::nanoseconds::max();
  return std::chrono::nanoseconds(left);
}

// Waits until a time of any clock by calling wait(deadline), with a deadline of the steady clock. Waits again
// if that other clock was set back meanwhile. Returns false if the time has come.
template <class Clock, class Duration, class Wait>
bool wait_by_clock(std::chrono::time_point<Clock, Duration> time, Wait wait) {
  while (!wait(deadline_after(time_until(time))))
    if (time_until(time) <= std::chrono::nanoseconds::zero())
      return false;
  return true;
}

}  // namespace sennit::inline v0_1::detail
