// A fiber writes beyond an array on its stack.
// sanitizer: address
// expect: AddressSanitizer: stack-buffer-overflow
// expect: sennit: that was on the stack of fiber "writer", of 65536 bytes
// frame: fill
// options: detect_stack_use_after_return=0
#include "sanitizer_detect.hpp"
#include "sennit/local/runtime.hpp"

using namespace sennit::local;

[[gnu::noinline]] static int fill(int count) {
  int items[8] = {};
  for (int i = 0; i < count; ++i)
    planted::opaque(&items[0])[i] = i;
  return planted::opaque(&items[0])[count / 2];
}

int main(int argc, char**) {
  return planted::run(argc, [] {
    runtime().run([] {
      auto writer = spawn(
          [] {
            this_fiber::yield();
            fill(planted::opaque(planted::bug ? 9 : 8));
          },
          {.name = "writer"});
      this_fiber::yield();
      writer.join();
    });
  });
}
