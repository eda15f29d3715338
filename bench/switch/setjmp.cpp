// _setjmp and _longjmp (no signal mask, so no system call) between the main stack and one that ucontext made.
#undef _FORTIFY_SOURCE  // its longjmp refuses to leave for another stack

#include <gnu/libc-version.h>
#include <ucontext.h>
#include <csetjmp>
#include <memory>

#include "switch.hpp"

namespace {

constexpr std::size_t stack_size = 64 * 1024;

jmp_buf main_buffer, other_buffer;
std::uint64_t left;  // not a local: _longjmp does not bring those back

void other() {
  for (;;) {
    if (_setjmp(other_buffer) == 0)
      _longjmp(main_buffer, 1);
  }
}

BENCH_NOINLINE void start_other(char* stack) {
  ucontext_t main_context, other_context;
  getcontext(&other_context);
  other_context.uc_stack.ss_sp = stack;
  other_context.uc_stack.ss_size = stack_size;
  other_context.uc_link = nullptr;
  makecontext(&other_context, &other, 0);
  if (_setjmp(main_buffer) == 0)
    swapcontext(&main_context, &other_context);
}

void switch_back_and_forth(std::uint64_t count) {
  for (left = count; left != 0; --left) {
    if (_setjmp(main_buffer) == 0)
      _longjmp(other_buffer, 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, gnu_get_libc_version(), "_setjmp and _longjmp, no signal mask");
  program.require_one_worker("a jump buffer has one thread");

  const std::unique_ptr<char[]> stack(new char[stack_size]);
  start_other(stack.get());
  program.measure("_setjmp", {}, "switch", 2, switch_back_and_forth);
}
