// Sennit: see fib.hpp. `parallel-call` calls for fib(n - 2) where the others start a fiber, as one would
// write it: half as many fibers.
#include "fib.hpp"

#include "../peers/sennit-parallel.hpp"

namespace {

long fib(long n) {
  if (n < 2)
    return n;
  long a = 0;
  long b = 0;
  auto first = sennit::spawn_now([&a, n] { a = fib(n - 1); });
  auto second = sennit::spawn_now([&b, n] { b = fib(n - 2); });
  first.join();
  second.join();
  return a + b;
}

long fib_by_call(long n) {
  if (n < 2)
    return n;
  long a = 0;
  auto first = sennit::spawn_now([&a, n] { a = fib_by_call(n - 1); });
  const long b = fib_by_call(n - 2);
  first.join();
  return a + b;
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(
      argc, argv, "this checkout",
      "n = 35 (quick: 30), spawn_now, 64 KiB pooled stacks; 1 worker: the second one is held",
      bench::fib_parameters(35, 30));
  bench::sennit_parallel::run(program.workers(), bench::second_worker::held, [&] {
    bench::measure_fib(program, "parallel", fib);
    bench::measure_fib(program, "parallel-call", fib_by_call, [](long calls) { return (calls - 1) / 2; });
  });
}
