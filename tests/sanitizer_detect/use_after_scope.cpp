// A generator's body keeps the address of an object whose scope has ended, over a yield.
// sanitizer: address
// expect: AddressSanitizer: stack-use-after-scope
// frame: body
// options: detect_stack_use_after_return=0
#include "sanitizer_detect.hpp"
#include "sennit/generator.hpp"

using sennit::generator;

[[gnu::noinline]] static void body(generator<int>::yielder& yield) {
  int outer = 1;
  int* kept = &outer;
  {
    int inner = 2;
    if (planted::bug)
      kept = planted::opaque(&inner);
    yield(*planted::opaque(&inner));
  }
  yield(*planted::opaque(kept));
}

int main(int argc, char**) {
  return planted::run(argc, [] {
    generator<int> numbers([](auto& yield) { body(yield); });
    for (int number : numbers)
      planted::opaque(number);
  });
}
