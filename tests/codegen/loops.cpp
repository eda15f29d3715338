// The loops that users write around the library's switches.
#include "sennit/generator.hpp"
#include "sennit/local/fiber.hpp"

long sum_of(sennit::generator<long>& numbers) {
  long sum = 0;
  for (long each : numbers)
    sum += each;
  return sum;
}

// Its body's loop is in generator<long>::run.
sennit::generator<long> even_numbers(long count) {
  return sennit::generator<long>([count](auto& yield) {
    for (long i = 0; i < count; ++i)
      yield(42 + i * 2);
  });
}

void yield_often(long count) {
  for (long i = 0; i < count; ++i)
    sennit::local::this_fiber::yield();
}
