// Machine contexts, of C, as the mctx workload makes them and switches between them. A peer brings
// `create(start)`, which makes a context on a stack of its own that is used again and again, and never
// entered but by `go()`, one way there; `back()` is the way back, called by what runs there.
//
// Engelschall's benchmark: 10,000 creations, then as many switches. Here each is measured by itself.
#pragma once

#include "../support/bench.hpp"

namespace bench {

inline constexpr std::size_t mctx_stack_size = 64 * 1024;

inline std::uint64_t mctx_entered;

/// What runs in the context: comes back at once, each time.
template <class Peer>
void mctx_run() {
  for (;;) {
    ++mctx_entered;
    Peer::back();
  }
}

template <class Peer>
void measure_mctx(program& program, const char* variant) {
  program.measure(variant, {{"work", "create"}}, "create", 1, [](std::uint64_t count) {
    for (; count != 0; --count)
      Peer::create();
    mctx_entered = 0;
    Peer::go();
    require(mctx_entered == 1, "the context does not run");
  });
  Peer::create();
  program.measure(variant, {{"work", "switch"}}, "switch", 2, [](std::uint64_t count) {
    mctx_entered = 0;
    for (std::uint64_t i = 0; i < count; ++i)
      Peer::go();
    require(mctx_entered == count, "the context did not run each time");
  });
}

}  // namespace bench
