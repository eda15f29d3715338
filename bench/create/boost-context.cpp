// Boost.Context's fiber on a stack from its pool, and on one from malloc.
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>

#include "../peers/boost.hpp"
#include "create.hpp"

namespace {

using boost::context::fiber;

constexpr std::size_t stack_size = 64 * 1024;

template <class Stack>
std::uint64_t create(Stack& stack, std::uint64_t value) {
  std::uint64_t result = 0;
  fiber made(std::allocator_arg, stack, [value, &result](fiber&& main) {
    result = bench::opaque(value);
    return std::move(main);
  });
  made = std::move(made).resume();
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::boost_version(),
                         "fiber on pooled_fixedsize_stack and fixedsize_stack");
  program.require_one_worker("a context has one thread");

  boost::context::pooled_fixedsize_stack pooled(stack_size);
  bench::measure_create(program, "pooled", [&](std::uint64_t value) { return create(pooled, value); });
  boost::context::fixedsize_stack fixedsize(stack_size);
  bench::measure_create(program, "fixedsize", [&](std::uint64_t value) { return create(fixedsize, value); });
}
