// GNU Pth's user-space contexts, the switch its own threads are made of. How it switches was chosen when the
// library was built.
#include <pth.h>

#include "switch.hpp"

namespace {

constexpr std::size_t stack_size = 64 * 1024;

pth_uctx_t main_context, other_context;

void other(void*) {
  for (;;)
    pth_uctx_switch(other_context, main_context);
}

}  // namespace

int main(int argc, char** argv) {
  const long version = pth_version();
  bench::program program(argc, argv,
                         std::to_string(version >> 20) + '.' + std::to_string(version >> 12 & 0xff) + '.' +
                             std::to_string(version & 0xff),
                         "pth_uctx_switch");
  program.require_one_worker("Pth has one kernel thread");

  bench::require(pth_init(), "pth_init failed");
  bench::require(
      pth_uctx_create(&main_context) && pth_uctx_create(&other_context) &&
          pth_uctx_make(other_context, nullptr, stack_size, nullptr, &other, nullptr, main_context),
      "Pth made no context");
  program.measure("uctx", {}, "switch", 2, [](std::uint64_t count) {
    for (; count != 0; --count)
      pth_uctx_switch(main_context, other_context);
  });
}
