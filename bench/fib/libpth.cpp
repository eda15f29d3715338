// GNU Pth: see fib.hpp.
#include "../peers/libpth.hpp"
#include "fib.hpp"

int main(int argc, char** argv) {
  constexpr long most = 14;  // every switch looks at all waiting threads
  using library = bench::pth;
  bench::program program(argc, argv, library::version(), "n = 14 (quick: 10, at most 14), 64 KiB stacks",
                         bench::fib_parameters(14, 10));
  program.require_one_worker("Pth has one kernel thread");

  const auto fib = bench::fib_by_fibers<library>::of;
  library::run([&] { bench::measure_fib(program, "pth", fib, most); });
}
