// POSIX threads: see fib.hpp.
#include "../peers/pthread.hpp"
#include "fib.hpp"

int main(int argc, char** argv) {
  constexpr long most = 14;  // more kernel threads than that a machine in use should not be asked for
  bench::program program(argc, argv, bench::pthreads::version(),
                         "n = 12 (quick: 10, at most 14), 64 KiB stacks, which glibc keeps",
                         bench::fib_parameters(12, 10));
  const auto fib = bench::fib_by_fibers<bench::pthreads>::of;
  bench::pthreads::run([&] { bench::measure_fib(program, "pthread", fib, most); });
}
