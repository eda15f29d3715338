// sigsetjmp and siglongjmp, with the signal mask, as the source's are, and without. They make no context: one
// is entered by swapcontext first.
#undef _FORTIFY_SOURCE  // its longjmp refuses to leave for another stack

#include <gnu/libc-version.h>
#include <ucontext.h>
#include <csetjmp>

#include "mctx.hpp"

namespace {

char stack[bench::mctx_stack_size];
sigjmp_buf home, other;
std::uint64_t left;  // not a local: siglongjmp does not bring those back

template <int mask>
void come_back() {
  for (;;) {
    ++bench::mctx_entered;
    if (sigsetjmp(other, mask) == 0)
      siglongjmp(home, 1);
  }
}

template <int mask>
BENCH_NOINLINE void start() {
  ucontext_t here, there;
  getcontext(&there);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = sizeof stack;
  there.uc_link = nullptr;
  makecontext(&there, come_back<mask>, 0);
  if (sigsetjmp(home, mask) == 0)
    swapcontext(&here, &there);
}

template <int mask>
void measure(bench::program& program, const char* variant) {
  start<mask>();
  program.measure(variant, {{"work", "switch"}}, "switch", 2, [](std::uint64_t count) {
    bench::mctx_entered = 0;
    for (left = count; left != 0; --left)
      if (sigsetjmp(home, mask) == 0)
        siglongjmp(other, 1);
    bench::require(bench::mctx_entered == count, "the context did not run each time");
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, gnu_get_libc_version(), "sigsetjmp and siglongjmp");
  program.require_one_worker("a jump buffer has one thread");
  measure<0>(program, "sigsetjmp");
  measure<1>(program, "sigsetjmp-mask");
}
