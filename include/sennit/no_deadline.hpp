// sennit::no_deadline: a deadline that never passes.
// room: timer
//
//   const auto until = limit ? std::chrono::steady_clock::now() + *limit : sennit::no_deadline;
//   stream.write_all(request, until);
//   std::size_t size = stream.read_some(reply, until);
//
// Use it for a deadline that is computed, stored or passed on. Otherwise leave the deadline out (I/O), or
// call the function without `_until`.
#pragma once

#include "sennit/detail/arch/exceptions.hpp"
#include "sennit/detail/timer/chrono.hpp"

namespace sennit::inline v0_1 {

/// Later than all other times: `std::min` of it and a deadline is the deadline.
inline constexpr std::chrono::steady_clock::time_point no_deadline =
    std::chrono::steady_clock::time_point::max();

}  // namespace sennit::inline v0_1
