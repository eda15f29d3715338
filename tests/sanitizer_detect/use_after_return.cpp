// A generator's body uses a local object of a function that has returned.
// sanitizer: address
// expect: AddressSanitizer: stack-use-after-return
// frame: body
// always: detect_stack_use_after_return=1
#include "sanitizer_detect.hpp"
#include "sennit/generator.hpp"

using sennit::generator;

[[gnu::noinline]] static int* leave(int* argument) {
  int local = 1;
  return planted::opaque(planted::bug ? &local : argument);
}

[[gnu::noinline]] static void body(generator<int>::yielder& yield) {
  int own = 2;
  int* kept = leave(&own);
  yield(1);
  yield(*kept);
}

int main(int argc, char**) {
  return planted::run(argc, [] {
    generator<int> numbers([](auto& yield) { body(yield); });
    for (int number : numbers)
      planted::opaque(number);
  });
}
