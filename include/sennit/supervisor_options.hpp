// sennit::supervisor_options: which actors of a supervisor begin again, and how often.
// room: sync
//
//   sennit::supervisor family({.policy = sennit::restart_policy::one_for_all, .restarts = 5, .period =
//   1min});
//
// Supervisors of both kinds of runtimes use them (supervisor.hpp).
#pragma once

#include "sennit/detail/arch/exceptions.hpp"
#include "sennit/detail/timer/chrono.hpp"

namespace sennit::inline v0_1 {

/// Which actors of a supervisor begin again when one of them fails.
enum class restart_policy : unsigned char {
  /// The one that failed.
  one_for_one,
  /// The one that failed, and those that were started after it.
  rest_for_one,
  /// All.
  one_for_all
};

/// For supervisor_options::restarts: actors always begin again.
inline constexpr unsigned no_limit_of_restarts = ~0u;

/// Options of a supervisor.
struct supervisor_options {
  /// Which actors begin again.
  restart_policy policy = restart_policy::one_for_one;
  /// The number of failures within a period after which actors begin again. One more failure stops the
  /// supervisor, and its owner gets the exception. With 0, the first one does.
  /// The supervisor takes 8 bytes for each, but none for `no_limit_of_restarts`.
  unsigned restarts = 3;
  /// The length of the period.
  std::chrono::steady_clock::duration period = std::chrono::seconds(5);
};

}  // namespace sennit::inline v0_1
