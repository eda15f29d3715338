// GNU Pth's user-space contexts. How they are made and switch was chosen when the library was built.
#include <pth.h>

#include "../peers/libpth.hpp"
#include "mctx.hpp"

namespace {

char stack[bench::mctx_stack_size];
pth_uctx_t home, other;

struct machine_context {
  static void start(void*) { bench::mctx_run<machine_context>(); }
  static void create() {
    bench::require(pth_uctx_make(other, stack, sizeof stack, nullptr, start, nullptr, home) != 0,
                   "pth_uctx_make failed");
  }
  static BENCH_INLINE void go() { pth_uctx_switch(home, other); }
  static BENCH_INLINE void back() { pth_uctx_switch(other, home); }
};

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pth::version(), "pth_uctx_make and pth_uctx_switch");
  program.require_one_worker("Pth has one kernel thread");
  bench::require(pth_init() && pth_uctx_create(&home) && pth_uctx_create(&other), "Pth made no context");
  bench::measure_mctx<machine_context>(program, "uctx");
}
