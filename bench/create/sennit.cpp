// Sennit's coroutine, its stack and run loop from the thread's pool.
#include "create.hpp"

#include "../peers/sennit.hpp"
#include "sennit/coroutine.hpp"
#include "sennit/generator.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version,
                         "coroutines reused whole, from the thread's pool");
  program.require_one_worker("a coroutine has one thread");

  bench::measure_create(program, "generator", [](std::uint64_t value) {
    std::uint64_t result = 0;
    sennit::generator<std::uint64_t> made([value, &result](auto&) { result = bench::opaque(value); });
    made.begin();
    return result;
  });
  bench::measure_create(program, "coroutine", [](std::uint64_t value) {
    sennit::coroutine<std::uint64_t(std::uint64_t)> made(
        [](auto&, std::uint64_t in) { return bench::opaque(in); });
    return made(value);
  });
}
