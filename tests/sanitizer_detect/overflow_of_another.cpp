// A fiber writes beyond an array of another, which waits: the report names both. (A local object lies in the
// stack itself where use after return is not looked for.)
// sanitizer: address
// expect: AddressSanitizer: stack-buffer-overflow
// expect: sennit: that was on the stack of fiber "writer", of 131072 bytes
// expect: sennit: its address is in the stack of fiber "owner", of 65536 bytes
// frame: fill
// always: detect_stack_use_after_return=0
#include "sanitizer_detect.hpp"
#include "sennit/runtime.hpp"

[[gnu::noinline]] static void fill(int* items, int count) {
  for (int i = 0; i < count; ++i)
    items[i] = i;
  planted::opaque(items);
}

int main(int argc, char**) {
  return planted::run(argc, [] {
    sennit::runtime({.workers = 2}).run([] {
      const auto own = [] {
        int items[8] = {};
        const auto write = [where = planted::opaque(&items[0])] {
          fill(where, planted::opaque(planted::bug ? 9 : 8));
        };
        sennit::spawn(write, {.name = "writer", .stack_size = 128 * 1024}).join();
      };
      auto owner = sennit::spawn(own, {.name = "owner"});
      owner.join();
    });
  });
}
