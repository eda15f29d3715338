// A fiber ends the program: what only the thread's own stack refers to is not leaked.
// sanitizer: address
// expect: LeakSanitizer: detected memory leaks
// expect: 12345 byte\(s\) leaked in 1 allocation\(s\)
// options: detect_stack_use_after_return=0
#include <cstdlib>
#include <cstring>
#include <memory>

#include "sanitizer_detect.hpp"
#include "sennit/local/runtime.hpp"

using namespace sennit::local;

static void lose() {
  std::memset(planted::opaque(new char[12345]), 1, 12345);
}

[[gnu::noinline]] static void work() {
  auto mine = std::make_unique<int>(1);
  planted::opaque(mine.get());
  runtime().run([] {
    auto sleeper = spawn([kept = std::make_unique<int>(2)] { this_fiber::park(); });
    auto waits_in_a_frame = spawn([] {
      auto held = std::make_unique<int>(3);
      this_fiber::park();
    });
    this_fiber::yield();
    if (planted::bug)
      spawn(lose).join();  // its stack, idle and unused now, still holds the address
    std::puts("done");
    std::exit(0);
  });
}

int main(int argc, char**) {
  return planted::run(argc, work);
}
