// A coroutine reads an int where none may lie, on its own stack.
// sanitizer: undefined
// expect: runtime error: load of misaligned address
// frame: read
#include "sanitizer_detect.hpp"
#include "sennit/coroutine.hpp"

[[gnu::noinline]] static int read(const int* where) {
  return *where;
}

int main(int argc, char**) {
  return planted::run(argc, [] {
    sennit::coroutine<int(int)> reader([](auto& self, int offset) {
      alignas(int) char bytes[2 * sizeof(int)] = {};
      for (;;)
        offset = self.yield(read(reinterpret_cast<const int*>(planted::opaque(&bytes[0]) + offset)));
      return 0;
    });
    reader(planted::opaque(0));
    reader(planted::opaque(planted::bug ? 1 : 4));
  });
}
