// At the program's end fibers and generators are suspended; what only their stacks refer to is not leaked.
// What a fiber lost is, even if its stack still holds old copies of the address where no frame is any more.
// sanitizer: address
// expect: LeakSanitizer: detected memory leaks
// frame: lose
// expect: 12345 byte\(s\) leaked in 1 allocation\(s\)
// options: detect_stack_use_after_return=0
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "sanitizer_detect.hpp"
#include "sennit/generator.hpp"
#include "sennit/local/runtime.hpp"

using namespace sennit::local;

[[gnu::noinline]] static void lose() {
  char* lost = new char[12345];
  std::memset(planted::opaque(lost), 1, 12345);
}

// Deep down, so that what is left of its frames is not overwritten at once.
[[gnu::noinline]] static void lose_deep_down(int depth) {
  if (depth > 0)
    lose_deep_down(planted::opaque(depth) - 1);
  else
    lose();
  planted::opaque(depth);
}

[[gnu::noinline]] static void holds_and_parks() {
  auto in_frame = std::make_unique<std::string>(1000, 'x');
  int* raw = new int(planted::opaque(7));
  planted::opaque(&raw);
  this_fiber::park();
  delete raw;
}

static void start(runtime& rt) {
  rt.spawn(holds_and_parks, {.name = "holds"}).detach();
  rt.spawn([kept = std::make_unique<int>(1)] { this_fiber::park(); }).detach();
  rt.spawn([] {
      try {
        throw std::runtime_error(std::string(100, 'y'));
      } catch (const std::runtime_error&) {
        this_fiber::park();  // the exception is on no stack
      }
    }).detach();
  rt.spawn([] {
      if (planted::bug)
        lose_deep_down(5);
      holds_and_parks();
    }).detach();
  rt.spawn([] {
      sennit::generator<int> inner([](auto& yield) {
        auto mine = std::make_unique<std::string>(500, 'z');
        yield(1);
        yield(static_cast<int>(mine->size()));
      });
      static_cast<void>(inner.begin());
      this_fiber::park();
    }).detach();
}

int main(int argc, char**) {
  return planted::run(argc, [] {
    static auto* endless = new runtime;
    start(*endless);
    while (endless->run_once()) {
    }
  });
}
