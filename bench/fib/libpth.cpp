// GNU Pth: see fib.hpp.
#include "../peers/libpth.hpp"
#include "fib.hpp"

int main(int argc, char** argv) {
  using library = bench::pth;
  bench::program program(argc, argv, library::version(), "n = 14 (quick: 10), 64 KiB stacks",
                         bench::fib_parameters(14, 10));
  program.require_one_worker("Pth has one kernel thread");

  const auto fib = bench::fib_by_fibers<library>::of;
  library::run([&] { bench::measure_fib(program, "pth", fib); });
}
