// A plain signal handler, which mends what faulted and returns: see exception.hpp.
#include <signal.h>
#include <ucontext.h>

#include <memory>

#include "exception.hpp"

namespace {

void mend([[maybe_unused]] int signal, siginfo_t* info, [[maybe_unused]] void* context) {
#if defined(__x86_64__)
  if (signal == SIGILL) {
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] += bench::illegal_instruction_size;
    return;
  }
#endif
  bench::closed_pages::open(info->si_addr);
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, "Linux", "sigaction, on an alternate signal stack");
  program.require_one_worker("a handler runs on the thread that faulted");
  constexpr std::size_t size = 256 * 1024;
  const auto memory = std::make_unique<char[]>(size);
  stack_t stack = {};
  stack.ss_sp = memory.get();
  stack.ss_size = size;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = mend;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGILL, &action, nullptr);
  bench::measure_exception(program, "");
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
}
