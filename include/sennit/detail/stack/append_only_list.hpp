// A list that only grows, at its head, so that it can be walked at any time, by a signal handler too: nothing
// in it goes away or changes.
#pragma once

#include "sennit/detail/arch/native_memory.hpp"

namespace sennit::inline v0_1::detail {

// Node has a member `next` for us: Memory's plain<Node*>.
template <class Node, class Memory = native_memory>
class append_only_list {
public:
  // Any thread.
  void add(Node* node) noexcept {
    Node* next = newest_.load(std::memory_order_relaxed);
    do
      node->next = next;
    while (!newest_.compare_exchange_weak(next, node, std::memory_order_release, std::memory_order_relaxed));
  }

  // Any thread; `next` leads on to the older ones. What was written to a node before it was added is seen.
  Node* newest() const noexcept { return newest_.load(std::memory_order_acquire); }

private:
  typename Memory::template atomic<Node*> newest_{nullptr};
};

}  // namespace sennit::inline v0_1::detail
