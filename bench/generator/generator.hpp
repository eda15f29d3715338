// The two walks of the generator workload: counting, and a binary tree in order. Every peer yields the same
// elements, and the sum of what its consumer got is checked.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../support/bench.hpp"

namespace bench {

struct node {
  node* left;
  node* right;
  std::uint64_t value;
};

/// A complete binary tree; its nodes lie in memory in the order of the walk and are numbered in that order.
class tree {
public:
  explicit tree(long depth) : nodes_(((std::size_t{1} << depth) - 1)) { root_ = build(0, nodes_.size()); }

  node* root() { return opaque(root_); }
  std::uint64_t size() const { return nodes_.size(); }
  std::uint64_t sum() const { return size() * (size() - 1) / 2; }

private:
  node* build(std::size_t begin, std::size_t end) {
    if (begin == end)
      return nullptr;
    const std::size_t middle = begin + (end - begin) / 2;
    nodes_[middle] = {build(begin, middle), build(middle + 1, end), middle};
    return &nodes_[middle];
  }

  std::vector<node> nodes_;
  node* root_;
};

/// The parameter every program of this workload takes.
inline std::vector<parameter> generator_parameters() {
  return {{"depth", {4, 10, 16}, {4, 10}}};
}

/// Measures `count_to(limit)`, which consumes a generator of the numbers below `limit`, and `walk(root)`,
/// which consumes one that walks a tree; both return the sum.
template <class CountTo, class Walk>
void measure_generator(program& program, const char* variant, CountTo&& count_to, Walk&& walk) {
  program.measure(variant, {}, "element", 1, [&](std::uint64_t count) {
    const std::uint64_t sum = count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
    require(count_to(count) == sum, "an element was lost");
  });
  for (const long depth : program.values("depth")) {
    tree tree(depth);
    program.measure(variant, {{"depth", depth}}, "element", static_cast<double>(tree.size()),
                    [&](std::uint64_t count) {
                      for (; count != 0; --count)
                        require(walk(tree.root()) == tree.sum(), "an element was lost");
                    });
  }
}

}  // namespace bench
