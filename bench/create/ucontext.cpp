// makecontext on one stack that is used again, swapcontext there, and back by uc_link.
#include <gnu/libc-version.h>
#include <ucontext.h>
#include <memory>

#include "create.hpp"

namespace {

constexpr std::size_t stack_size = 64 * 1024;

std::uint64_t given, returned;

void run() {
  returned = bench::opaque(given);
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, gnu_get_libc_version(),
                         "getcontext, makecontext, swapcontext on one stack");
  program.require_one_worker("a context has one thread");

  const std::unique_ptr<char[]> stack(new char[stack_size]);
  bench::measure_create(program, "reused", [&](std::uint64_t value) {
    ucontext_t main_context, made;
    getcontext(&made);
    made.uc_stack.ss_sp = stack.get();
    made.uc_stack.ss_size = stack_size;
    made.uc_link = &main_context;
    given = value;
    makecontext(&made, &run, 0);
    swapcontext(&main_context, &made);
    return returned;
  });
}
