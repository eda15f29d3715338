// Boost.Context's fiber on a stack with a guard page: a mapping each, which ends with the fiber.
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#include "../peers/boost.hpp"
#include "guarded.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::boost_version(), "fiber on protected_fixedsize_stack",
                         {bench::guarded_stacks()});
  program.require_one_worker("a context has one thread");

  using boost::context::fiber;
  boost::context::protected_fixedsize_stack stacks(bench::guarded_stack_size);
  long finished = 0;
  bench::measure_guarded(
      program, "protected",
      [&](long index) {
        return fiber(std::allocator_arg, stacks,
                     [&finished, index](fiber&& main) {
                       main = std::move(main).resume();
                       finished = index;
                       return std::move(main);
                     })
            .resume();
      },
      [&](fiber& each) {
        each = std::move(each).resume();
        return finished;
      });
}
