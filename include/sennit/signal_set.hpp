// sennit::signal_set: signals that a fiber waits for.
// room: io
//
//   sennit::signal_set stop{SIGINT, SIGTERM};
//   int which = stop.wait();
#pragma once

#include <csignal>
#include <initializer_list>
#include <span>
#include <system_error>

#include "sennit/detail/io/signals.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/no_deadline.hpp"

namespace sennit::inline v0_1 {

/// A set of signals to wait for. While it exists, its signals no longer have their former effect on the
/// process: a handler of Sennit's notes them and wakes the fiber. Handlers that were installed before are
/// not called.
///
/// - It works on whichever thread the kernel delivers the signal, as long as a thread does not block it.
///   The handler restarts the system calls that it interrupts (SA_RESTART).
/// - Several sets may contain a signal: each receives it. When the last of them is destroyed, the former
///   disposition is restored, unless other code has changed it meanwhile.
/// - Signals that arrive while no fiber waits are kept; the same signal twice counts once. The destructor
///   drops signals that no wait has returned.
/// - It is neither copied nor moved. It may be made outside of a runtime, and on any thread. One fiber at a
///   time waits. The other rules about runtimes are those of tcp_stream.
class signal_set {
public:
  /// A deadline, of the steady clock.
  using time_point = std::chrono::steady_clock::time_point;

  /// Installs the handler for these signals, as signal_set(std::span).
  signal_set(std::initializer_list<int> signals) : signal_set(std::span(signals.begin(), signals.size())) {}
  /// Installs the handler for these signals.
  ///
  /// \throws std::system_error with invalid_argument for a number that is not a signal, for SIGKILL and
  ///   SIGSTOP, which cannot be handled, and for SIGSEGV, SIGBUS, SIGILL and SIGFPE, which report faults;
  ///   with too_many_files_open
  explicit signal_set(std::span<const int> signals) : subscription_(signals) {}
  signal_set(const signal_set&) = delete;
  signal_set& operator=(const signal_set&) = delete;

  /// Waits until one of the signals arrives, or returns one that has arrived since the last wait.
  ///
  /// Codes: timed_out; device_or_resource_busy (another fiber waits); operation_canceled (another fiber
  /// destroyed the set).
  ///
  /// \returns the signal's number; the lowest one if there are several
  /// \throws std::system_error with one of these codes
  int wait(time_point deadline = no_deadline);
  /// Like wait(), but sets `error` instead of throwing `std::system_error`, and then returns 0.
  int wait(std::error_code& error, time_point deadline = no_deadline);

private:
  detail::signal_subscription subscription_;
};

}  // namespace sennit::inline v0_1
