// Boost.Fiber: see fib.hpp. Entered at once, as spawn_now does.
#include "../peers/boost-fiber.hpp"
#include "fib.hpp"

namespace {

boost::fibers::pooled_fixedsize_stack& stacks() {
  static boost::fibers::pooled_fixedsize_stack pool(64 * 1024);
  return pool;
}

long fib(long n) {
  using boost::fibers::launch;
  if (n < 2)
    return n;
  long a = 0;
  long b = 0;
  boost::fibers::fiber first(launch::dispatch, std::allocator_arg, stacks(), [&a, n] { a = fib(n - 1); });
  boost::fibers::fiber second(launch::dispatch, std::allocator_arg, stacks(), [&b, n] { b = fib(n - 2); });
  first.join();
  second.join();
  return a + b;
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::boost_version(),
                         "n = 24 (quick: 20), launch::dispatch, 64 KiB pooled stacks",
                         bench::fib_parameters(24, 20));
  program.require_one_worker("the default scheduler has one kernel thread");
  bench::boost_fibers<>::run([&] { bench::measure_fib(program, "dispatch", fib); });
}
