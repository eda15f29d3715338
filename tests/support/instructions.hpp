// Counts instructions, exactly: a child process takes them one at a time.
#pragma once

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "sennit/detail/stack/sanitizer.hpp"

namespace support {

#if defined(__x86_64__) && !defined(__ILP32__) && !defined(SENNIT_SANITIZED)  // they look at whole stacks
#define SUPPORT_COUNTS_INSTRUCTIONS 1

// Called in what is counted, once where that begins, and once where it ends.
inline void mark() {
  __asm__ volatile("int3" ::: "memory");
}

// How many instructions the function takes from one mark() to the other; 0: it does not come to both. -1: a
// process must not trace another here (in some containers).
template <class Function>
long instructions_of(Function function) {
  constexpr int refused = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0)
      ::_exit(refused);
    function();
    ::_exit(0);
  }
  int status = 0;
  const auto stops = [&] {
    return ::waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  };
  const auto at_mark = [&] {
    siginfo_t why{};
    return ::ptrace(PTRACE_GETSIGINFO, child, nullptr, &why) == 0 && why.si_code == SI_KERNEL;
  };
  long steps = 0;
  bool came = stops() && at_mark();
  while (came && ::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0) {
    came = stops();
    if (came && at_mark())
      break;
    ++steps;
  }
  if (WIFEXITED(status))
    return WEXITSTATUS(status) == refused ? -1 : 0;
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return came ? steps : 0;
}
#endif

}  // namespace support
