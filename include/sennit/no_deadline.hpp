// sennit::no_deadline: for what takes a deadline, and is to wait for as long as it takes.
// room: sched
//
//   const auto until = limit ? std::chrono::steady_clock::now() + *limit : sennit::no_deadline;
//   stream.write_all(request, until);
//   std::size_t size = stream.read_some(reply, until);
//
// For a deadline that is computed, kept or handed on. Who has none leaves it out (I/O), or calls the function
// without `_until`.
#pragma once

#include <chrono>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit {

// Later than all others: std::min of it and a deadline is the deadline.
inline constexpr std::chrono::steady_clock::time_point no_deadline =
    std::chrono::steady_clock::time_point::max();

}  // namespace sennit
