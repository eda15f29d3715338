// A fiber counts beyond the largest int.
// sanitizer: undefined
// expect: runtime error: signed integer overflow
// frame: add
#include <climits>

#include "sanitizer_detect.hpp"
#include "sennit/local/runtime.hpp"

using namespace sennit::local;

[[gnu::noinline]] static int add(int a, int b) {
  return a + b;
}

int main(int argc, char**) {
  return planted::run(argc, [] {
    runtime().run([] {
      spawn([] {
        this_fiber::yield();
        planted::opaque(add(planted::opaque(INT_MAX), planted::bug ? 1 : 0));
      }).join();
    });
  });
}
