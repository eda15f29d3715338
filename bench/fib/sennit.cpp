// Sennit: see fib.hpp. Fibers begin by spawn_now. `local-spawn`, `parallel-spawn`: by plain spawn; each
// begins when it is joined. `parallel-call` calls for fib(n - 2) where the others start a fiber, as one would
// write it: half as many fibers. `parallel-lifo`: the newest fiber runs first. With fifo, a worker that waits
// for a stolen fiber continues its oldest fiber, which starts more; few of them live at once only where
// workers keep their CPUs.
#include "fib.hpp"

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"

namespace {

long local_now(long n) {
  if (n < 2)
    return n;
  long a = 0;
  long b = 0;
  auto first = sennit::local::spawn_now([&a, n] { a = local_now(n - 1); });
  auto second = sennit::local::spawn_now([&b, n] { b = local_now(n - 2); });
  first.join();
  second.join();
  return a + b;
}

long local_spawn(long n) {
  if (n < 2)
    return n;
  long a = 0;
  long b = 0;
  auto first = sennit::local::spawn([&a, n] { a = local_spawn(n - 1); });
  auto second = sennit::local::spawn([&b, n] { b = local_spawn(n - 2); });
  first.join();
  second.join();
  return a + b;
}

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

long fib_by_spawn(long n) {
  if (n < 2)
    return n;
  long a = 0;
  long b = 0;
  auto first = sennit::spawn([&a, n] { a = fib_by_spawn(n - 1); });
  auto second = sennit::spawn([&b, n] { b = fib_by_spawn(n - 2); });
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
  bench::program program(argc, argv, "this checkout",
                         "n = 35 (quick: 30), 64 KiB pooled stacks; 1 worker: the second one is held",
                         bench::fib_parameters(35, 30));
  if (program.workers() == 1)
    bench::sennit_local::run([&] {
      bench::measure_fib(program, "local", local_now);
      bench::measure_fib(program, "local-spawn", local_spawn);
    });
  bench::sennit_parallel::run(program.workers(), bench::second_worker::held, [&] {
    bench::measure_fib(program, "parallel", fib);
    bench::measure_fib(program, "parallel-spawn", fib_by_spawn);
    bench::measure_fib(program, "parallel-call", fib_by_call, [](long calls) { return (calls - 1) / 2; });
  });
  bench::sennit_parallel::run(
      program.workers(), bench::second_worker::held,
      [&] { bench::measure_fib(program, "parallel-lifo", fib); }, 64 * 1024, sennit::run_policy::lifo);
}
