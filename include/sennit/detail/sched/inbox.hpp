// A worker's inbox: what other threads leave there for it, and whether they must wake it. What a parallel
// worker that is stuck does not come to, another one takes.
//
// The posts are a stack, which pushes grow and the worker takes whole; so no node is compared while another
// thread may free it, and a head that comes back (ABA) is no harm: its successor is what the push has written
// itself.
//
// Who goes to sleep says so, then looks at the inbox once more; who posts pushes, then looks whether the
// worker sleeps. These four are seq_cst: one of the two sees the other. (Weaker ones, on x86 too, let both
// miss: the store waits in the store buffer while the load is made.) The sleeper's is an exchange, which
// costs what such a store does: qemu-user runs AArch64's store and load of that order in either order on x86.
#pragma once

#include "sennit/detail/arch/native_memory.hpp"

namespace sennit::detail {

// Node has a member `next` for us: Memory's plain<Node*>.
template <class Node, class Memory = native_memory>
class inbox {
public:
  // Any thread. True: the worker sleeps, or is about to, and must be woken.
  [[nodiscard]] bool push(Node* node) noexcept {
    Node* next = newest_.load(std::memory_order_relaxed);
    do
      node->next = next;
    while (!newest_.compare_exchange_weak(next, node, std::memory_order_seq_cst, std::memory_order_relaxed));
    return sleeping_.load(std::memory_order_seq_cst);
  }

  // May miss what comes just now.
  bool empty() const noexcept { return newest_.load(std::memory_order_relaxed) == nullptr; }

  // All posts, the oldest first. Any thread that may do the worker's work: each post is had by one.
  Node* take() noexcept {
    Node* newest = newest_.exchange(nullptr, std::memory_order_acquire);
    Node* oldest = nullptr;
    while (newest != nullptr) {
      Node* const older = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = older;
    }
    return oldest;
  }

  // ---- The worker alone.

  // From now on posts wake it; what came before does not, and is seen by still_empty().
  void say_asleep() noexcept { sleeping_.exchange(true, std::memory_order_seq_cst); }
  bool still_empty() const noexcept { return newest_.load(std::memory_order_seq_cst) == nullptr; }
  void say_awake() noexcept { sleeping_.store(false, std::memory_order_relaxed); }

private:
  typename Memory::template atomic<Node*> newest_{nullptr};
  typename Memory::template atomic<bool> sleeping_{true};  // a worker that has not run yet is to be woken
};

}  // namespace sennit::detail
