// State Threads: see fib.hpp.
#include "../peers/libst.hpp"
#include "fib.hpp"

int main(int argc, char** argv) {
  constexpr long most = 16;  // nearly all threads live at once, each in mappings of its own
  using library = bench::state_threads<bench::idiom>;
  bench::program program(argc, argv, library::version(),
                         "n = 16 (quick: 12, at most 16), 64 KiB stacks, which it keeps",
                         bench::fib_parameters(16, 12));
  program.require_one_worker("State Threads has one kernel thread");

  const auto fib = bench::fib_by_fibers<library>::of;
  library::run([&] { bench::measure_fib(program, "st", fib, most); });
}
