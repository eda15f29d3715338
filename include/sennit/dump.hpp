// sennit::dump: every fiber of the process, what it waits for, how long it has, and where it stands.
// room: sched
//
//   sennit::dump_on_signal();  // from now on, kill -QUIT (or Ctrl-\) prints it
//
//   sennit: 3 fibers
//   runtime 1: 2 workers: worker 0 runs fiber 7; worker 1 runs no fiber
//   fiber 5 "accepts": parked: channel receive at 0x7ffd1c3e5a80 for 12.316 s
//     #0 sennit::channel<int>::receive()+0x41 (./server+0x8a31)
//     #1 accept_all()+0x1f (./server+0x7720)
//   fiber 6: parked: join of fiber 5 for 12.316 s
//     ...
//   fiber 7: running
//     ...
//
// A worker "has no thread now" as long as its thread has not begun; that of a local runtime, outside of
// run(). A fiber of a local runtime "blocks its thread" where it waits by what is for threads, such as a
// sennit::mutex. Functions of a program are named if it is linked with -rdynamic; llvm-symbolizer (or
// addr2line) tells file and line from the rest. What a fiber waits for is told by the address of the object
// (of a future, by that of what it shares with its promise), by a file descriptor's number, or by the fiber
// that it joins; a select says nothing of its cases. A wait begins when its worker last looked at the clock:
// as a rule less than 0.3 ms before; runtime.hpp says when. A look at each wait would cost more than the
// wait.
#pragma once

#include <csignal>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit {

// Prints all fibers of all runtimes to a file descriptor, and returns when it has. Any thread, any fiber; not
// signal handlers (see dump_on_signal).
//
// Workers are stopped meanwhile, by SIGURG, for at most about a second; then the text is made. A worker's
// thread that blocks that signal cannot be stopped: then the fibers of its runtime are listed without reasons
// and backtraces, for they may change while one looks. Blocking system calls that no SA_RESTART saves (sleep,
// poll, ...) end with EINTR in a fiber that was in one. Where there is no memory the dump says so.
void dump(int fd = 2) noexcept;

// From now on the process's signal has everything dumped to standard error, by a thread of its own: it works
// when all workers are stuck. Replaces the signal's former handler; not undone. Several signals may be given,
// one at a time. Throws std::system_error: EINVAL for what is no signal, or one that cannot be caught or is a
// fault's; EAGAIN when there can be no thread.
void dump_on_signal(int signal = SIGQUIT);

}  // namespace sennit
