// getcontext, makecontext and swapcontext of libc.
#include <gnu/libc-version.h>
#include <ucontext.h>

#include "mctx.hpp"

namespace {

char stack[bench::mctx_stack_size];
ucontext_t home, other;

struct machine_context {
  static void create() {
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = sizeof stack;
    other.uc_link = nullptr;
    makecontext(&other, bench::mctx_run<machine_context>, 0);
  }
  static BENCH_INLINE void go() { swapcontext(&home, &other); }
  static BENCH_INLINE void back() { swapcontext(&other, &home); }
};

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, gnu_get_libc_version(), "makecontext and swapcontext");
  program.require_one_worker("a context has one thread");
  bench::measure_mctx<machine_context>(program, "swapcontext");
}
