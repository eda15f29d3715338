// swapcontext, which saves and sets the signal mask: a system call each way.
#include <gnu/libc-version.h>
#include <ucontext.h>
#include <memory>

#include "switch.hpp"

namespace {

constexpr std::size_t stack_size = 64 * 1024;

ucontext_t main_context, other_context;

void other() {
  for (;;)
    swapcontext(&other_context, &main_context);
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, gnu_get_libc_version(), "swapcontext");
  program.require_one_worker("a context has one thread");

  const std::unique_ptr<char[]> stack(new char[stack_size]);
  getcontext(&other_context);
  other_context.uc_stack.ss_sp = stack.get();
  other_context.uc_stack.ss_size = stack_size;
  other_context.uc_link = nullptr;
  makecontext(&other_context, &other, 0);
  program.measure("swapcontext", {}, "switch", 2, [](std::uint64_t count) {
    for (; count != 0; --count)
      swapcontext(&main_context, &other_context);
  });
}
