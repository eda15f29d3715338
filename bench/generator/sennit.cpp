// Sennit's generator. A nested walk is recursion on the generator's own stack (`recursive`), or a generator
// in a generator at each node (`yield_all`).
#include "sennit/generator.hpp"

#include "../peers/sennit.hpp"
#include "generator.hpp"

namespace {

using generator = sennit::generator<std::uint64_t>;

BENCH_NOINLINE void walk(generator::yielder& yield, const bench::node* node) {
  if (node->left != nullptr)
    walk(yield, node->left);
  yield(node->value);
  if (node->right != nullptr)
    walk(yield, node->right);
}

BENCH_NOINLINE generator elements(const bench::node* node) {
  return generator([node](auto& yield) {
    if (node->left != nullptr)
      yield.yield_all(elements(node->left));
    yield(node->value);
    if (node->right != nullptr)
      yield.yield_all(elements(node->right));
  });
}

BENCH_NOINLINE std::uint64_t sum_of(generator& numbers) {
  std::uint64_t sum = 0;
  for (std::uint64_t number : numbers)
    sum += number;
  return sum;
}

BENCH_NOINLINE generator count_to(std::uint64_t limit) {
  return generator([limit](auto& yield) {
    for (std::uint64_t value = 0; value < limit; ++value)
      yield(value);
  });
}

std::uint64_t count(std::uint64_t limit) {
  generator numbers = count_to(limit);
  return sum_of(numbers);
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version, "64 KiB pooled stacks",
                         bench::generator_parameters());
  program.require_one_worker("a generator has one thread");

  bench::measure_generator(program, "recursive", count, [](const bench::node* root) {
    generator numbers([root](auto& yield) { walk(yield, root); });
    return sum_of(numbers);
  });
  bench::measure_generator(program, "yield_all", count, [](const bench::node* root) {
    generator numbers = elements(root);
    return sum_of(numbers);
  });
}
