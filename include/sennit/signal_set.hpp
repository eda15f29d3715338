// sennit::signal_set: signals that a fiber waits for.
// room: io
//
//   sennit::signal_set stop{SIGINT, SIGTERM};
//   int which = stop.wait();
//
#pragma once

#include <chrono>
#include <csignal>
#include <initializer_list>
#include <span>
#include <system_error>

#include "sennit/detail/io/signals.hpp"
#include "sennit/no_deadline.hpp"

namespace sennit {

// While a set exists, its signals do not have their former effect on the process: a handler of ours notes
// them and wakes the fiber. It works whichever thread the kernel gives the signal to, as long as one does not
// block it; it restarts the system calls it interrupts (SA_RESTART). Several sets may hold the same signal:
// each is told. When the last set that holds a signal is gone the former disposition is restored, unless
// somebody changed it meanwhile. A handler that was there before is not called.
//
// Signals that come while nobody waits are kept; the same one twice counts once. Those that nobody has waited
// for when the set is destroyed are dropped.
//
// Neither copied nor moved. It may be made outside of a runtime, and on any thread; one fiber at a time
// waits. Runtimes: as tcp_stream.
class signal_set {
public:
  using time_point = std::chrono::steady_clock::time_point;

  // Throws std::system_error: invalid_argument for what is no signal, for SIGKILL and SIGSTOP, which cannot
  // be handled, and for SIGSEGV, SIGBUS, SIGILL and SIGFPE, which tell of faults; too_many_files_open.
  signal_set(std::initializer_list<int> signals) : signal_set(std::span(signals.begin(), signals.size())) {}
  explicit signal_set(std::span<const int> signals) : subscription_(signals) {}
  signal_set(const signal_set&) = delete;
  signal_set& operator=(const signal_set&) = delete;

  // Waits until one of the signals comes, or has come since the last wait. Returns which; of several, the one
  // with the lowest number. Codes, thrown as std::system_error or told (then 0 is returned): timed_out;
  // device_or_resource_busy (another fiber waits); operation_canceled (another fiber destroyed the set).
  int wait(time_point deadline = no_deadline);
  int wait(std::error_code& error, time_point deadline = no_deadline);

private:
  detail::signal_subscription subscription_;
};

}  // namespace sennit
