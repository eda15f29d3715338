// The floor: an indirect call of a function the compiler cannot see, with its return. Half of it is one way.
#include "switch.hpp"

namespace {

using bench::four_values;

BENCH_NOINLINE void callee() {
  asm volatile("");
}

// Its values are where a function keeps what it needs the next time.
BENCH_NOINLINE void callee_with_ten_values(bench::ten_values& values) {
  if (bench::other_side_goes_on())
    values.add();
  else
    values.need();
}

BENCH_NOINLINE four_values callee_with_values(std::uint64_t a, std::uint64_t b, std::uint64_t c,
                                              std::uint64_t d) {
  asm volatile("");
  return bench::advance({a, b, c, d});
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, "", "indirect call, target in a register");
  program.require_one_worker("a call has one thread");

  auto* const target = bench::opaque(&callee);
  auto* const target_with_ten_values = bench::opaque(&callee_with_ten_values);
  auto* const target_with_values = bench::opaque(&callee_with_values);
  program.measure("indirect", {}, "switch", 2, [&](std::uint64_t count) {
    for (; count != 0; --count)
      target();
  });
  bench::ten_values values_of_the_callee;
  program.measure("live10", {}, "switch", 2, [&](std::uint64_t count) {
    bench::loop_with_ten_values(count, [&] { target_with_ten_values(values_of_the_callee); });
  });
  program.measure("value4", {}, "switch", 2, [&](std::uint64_t count) {
    bench::exchange_four_values(count, [&](const four_values& values) {
      return target_with_values(values.a, values.b, values.c, values.d);
    });
  });
}
