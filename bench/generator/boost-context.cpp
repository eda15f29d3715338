// A generator on Boost.Context's fiber, as its documentation writes one: the element goes through a variable
// both sides see. A nested walk is recursion on the generator's own stack.
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>

#include <memory>

#include "../peers/boost.hpp"
#include "generator.hpp"

namespace {

using boost::context::fiber;

constexpr std::size_t stack_size = 64 * 1024;

class generator {
public:
  /// The generator's side: `yield(value)`.
  class yield {
  public:
    explicit yield(generator& owner, fiber&& consumer) : owner_(owner), consumer_(std::move(consumer)) {}
    void operator()(std::uint64_t value) {
      owner_.value_ = value;
      consumer_ = std::move(consumer_).resume();
    }
    fiber finish() {
      owner_.done_ = true;
      return std::move(consumer_);
    }

  private:
    generator& owner_;
    fiber consumer_;
  };

  template <class Body>
  generator(boost::context::pooled_fixedsize_stack& stack, Body body)
      : fiber_(std::allocator_arg, stack, [this, body](fiber&& consumer) {
          yield yielder(*this, std::move(consumer));
          body(yielder);
          return yielder.finish();
        }) {}

  generator(generator&& other) = delete;

  bool next() {
    fiber_ = std::move(fiber_).resume();
    return !done_;
  }
  std::uint64_t value() const { return value_; }

private:
  fiber fiber_;
  std::uint64_t value_ = 0;
  bool done_ = false;
};

BENCH_NOINLINE void walk(generator::yield& yield, const bench::node* node) {
  if (node->left != nullptr)
    walk(yield, node->left);
  yield(node->value);
  if (node->right != nullptr)
    walk(yield, node->right);
}

BENCH_NOINLINE std::uint64_t sum_of(generator& generator) {
  std::uint64_t sum = 0;
  while (generator.next())
    sum += generator.value();
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::boost_version(), "fiber on pooled_fixedsize_stack",
                         bench::generator_parameters());
  program.require_one_worker("a context has one thread");

  boost::context::pooled_fixedsize_stack stack(stack_size);
  bench::measure_generator(
      program, "fiber",
      [&](std::uint64_t limit) {
        generator numbers(stack, [limit](generator::yield& yield) {
          for (std::uint64_t value = 0; value < limit; ++value)
            yield(value);
        });
        return sum_of(numbers);
      },
      [&](const bench::node* root) {
        generator elements(stack, [root](generator::yield& yield) { walk(yield, root); });
        return sum_of(elements);
      });
}
