// sennit/mctx.h. Built for each backend: the native one, ucontext, signalstack (CMakeLists.txt).
#include "sennit/mctx.h"

#include "../peers/sennit.hpp"
#include "mctx.hpp"

namespace {

alignas(16) char stack[bench::mctx_stack_size];
sennit_mctx home, other;

struct machine_context {
  static void start(void*) { bench::mctx_run<machine_context>(); }
  static void create() {
    bench::require(sennit_mctx_create(&other, start, nullptr, stack, sizeof stack, 0) == 0,
                   "sennit_mctx_create failed");
  }
  static BENCH_INLINE void go() { sennit_mctx_switch(&home, &other); }
  static BENCH_INLINE void back() { sennit_mctx_switch(&other, &home); }
};

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version, "sennit/mctx.h on each backend, no signal masks");
  program.require_one_worker("a context has one thread");
  bench::measure_mctx<machine_context>(program, "mctx");
}
