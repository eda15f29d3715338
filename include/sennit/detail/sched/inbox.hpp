// A worker's inbox: what other threads post to it, and whether they must wake it. If a parallel worker is
// stuck, another one takes its posts.
//
// The posts form a stack: pushes add to it, and the worker takes all of it. So no thread compares a node that
// another may free. A head that recurs (ABA) is harmless, because the push has written its successor itself.
//
// A worker that goes to sleep stores a flag, then looks at the inbox once more. A poster pushes, then reads
// the flag. These four operations are seq_cst, so one of the two sees the other. (With weaker ones, also on
// x86, both can miss: the store waits in the store buffer while the load executes.) The sleeper's store is an
// exchange, which costs no more than such a store: on x86, qemu-user may reorder AArch64's store and load of
// that order.
#pragma once

#include "sennit/detail/arch/native_memory.hpp"

namespace sennit::inline v0_1::detail {

// Node has a member `next` of type Memory::plain<Node*> for the inbox.
template <class Node, class Memory = native_memory>
class inbox {
public:
  // Any thread. Returns true if the caller must wake the worker, which sleeps or is about to.
  [[nodiscard]] bool push(Node* node) noexcept {
    Node* next = newest_.load(std::memory_order_relaxed);
    do
      node->next = next;
    while (!newest_.compare_exchange_weak(next, node, std::memory_order_seq_cst, std::memory_order_relaxed));
    return sleeping_.load(std::memory_order_seq_cst);
  }

  // May miss a post that is being pushed.
  bool empty() const noexcept { return newest_.load(std::memory_order_relaxed) == nullptr; }

  // Returns all posts, the oldest first. Any thread that may do the worker's work. Only one thread gets each
  // post.
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

  // ---- Only the worker.

  // From now on posts wake the worker. still_empty() sees the ones that came before.
  void mark_asleep() noexcept { sleeping_.exchange(true, std::memory_order_seq_cst); }
  bool still_empty() const noexcept { return newest_.load(std::memory_order_seq_cst) == nullptr; }
  void mark_awake() noexcept { sleeping_.store(false, std::memory_order_relaxed); }

private:
  typename Memory::template atomic<Node*> newest_{nullptr};
  typename Memory::template atomic<bool> sleeping_{true};  // a worker that has not run yet must be woken
};

}  // namespace sennit::inline v0_1::detail
