// sennit::dump: lists every fiber of the process, what it waits for, for how long, and its backtrace.
// room: observe
//
//   sennit::dump_on_signal();  // from now on, kill -QUIT (or Ctrl-\) prints it
//
//   sennit: 3 fibers
//   runtime 1: 2 workers: worker 0 runs fiber 7; worker 1 runs no fiber
//   fiber 5 "accepts": parked: channel receive at 0x7ffd1c3e5a80 for 12.316 s
//     #0 sennit::v0_1::detail::basic_channel<...>::receive()+0x41 (./server+0x8a31)
//     #1 accept_all()+0x1f (./server+0x7720)
//   fiber 6: parked: join of fiber 5 for 12.316 s
//     ...
//   fiber 7: running
//     ...
//
// A worker "has no thread now" until its thread has begun; a worker of a local runtime, outside of run(). A
// fiber of a local runtime "blocks its thread" if it waits for an object that is made for threads, such as
// a sennit::mutex.
//
// Functions of a program have names if it is linked with -rdynamic; llvm-symbolizer (or addr2line) finds
// file and line of the others. The object of a wait is its address (for a future, that of the state that it
// shares with its promise), a file descriptor's number, or the fiber that is joined. A select does not list
// its cases. A wait begins at the time at which its worker last read the clock, which is usually less than
// 0.3 ms earlier (see runtime.hpp): to read the clock at each wait would cost more than the wait.
#pragma once

#include <csignal>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit::inline v0_1 {

/// Prints all fibers of all runtimes to a file descriptor, and returns when it has. Any thread and any
/// fiber may call it, but not signal handlers (see dump_on_signal).
///
/// Workers are stopped meanwhile, by SIGURG, for at most about a second; then the text is made. If a
/// worker's thread blocks that signal, it cannot be stopped: the fibers of its runtime are then listed
/// without reasons and backtraces, because they may change during the dump. In a fiber that is in a
/// blocking system call which SA_RESTART does not restart, such as sleep or poll, that call fails with
/// EINTR. Without memory for the dump, it prints a message.
void dump(int fd = 2) noexcept;

/// From now on, a thread of its own prints a dump to standard error when the process receives the signal.
/// It works when all workers are stuck. It replaces the signal's former handler, and cannot be undone. Call
/// it once for each signal.
///
/// \throws std::system_error (EINVAL) for a number that is not a signal, or a signal that cannot be caught
///   or that reports faults; (EAGAIN) if the thread cannot be started
void dump_on_signal(int signal = SIGQUIT);

}  // namespace sennit::inline v0_1
