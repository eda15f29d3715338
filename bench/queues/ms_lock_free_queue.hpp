// Michael and Scott's lock-free queue. Each link has a count, and memory is type-stable: a thread may read a
// node that was taken and is used again, and notices it by the count.
//
// Source: Michael and Scott, "Simple, Fast, and Practical Non-Blocking and Blocking Concurrent Queue
// Algorithms", PODC 1996, Figure 1.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "queues.hpp"

namespace bench {

class ms_lock_free_queue {
  struct node {
    std::atomic<std::uint64_t> next{0};
    std::atomic<std::uint64_t> value{0};
  };

public:
  using handle = std::uint32_t;

  explicit ms_lock_free_queue(std::size_t count)
      : nodes_(count + 1), head_(nodes_.offset(count)), tail_(nodes_.offset(count)) {}
  handle at(std::size_t index) const { return nodes_.offset(index); }

  BENCH_INLINE void push(handle own, std::uint64_t value) {
    std::atomic<std::uint64_t>& after_own = nodes_[own].next;
    nodes_[own].value.store(value, std::memory_order_relaxed);
    after_own.store(changed_to(0, after_own.load(std::memory_order_relaxed)), std::memory_order_relaxed);
    for (;;) {
      std::uint64_t tail = tail_.load(std::memory_order_acquire);
      std::atomic<std::uint64_t>& after_last = nodes_[node_of(tail)].next;
      std::uint64_t next = after_last.load(std::memory_order_acquire);
      if (tail != tail_.load(std::memory_order_relaxed))
        continue;
      if (node_of(next) != 0) {
        swing_tail(tail, node_of(next));
      } else if (after_last.compare_exchange_strong(next, changed_to(own, next), std::memory_order_release,
                                                    std::memory_order_relaxed)) {
        swing_tail(tail, own);
        return;
      }
    }
  }
  BENCH_INLINE handle pop(std::uint64_t& value) {
    for (;;) {
      std::uint64_t head = head_.load(std::memory_order_acquire);
      const std::uint64_t tail = tail_.load(std::memory_order_acquire);
      const handle next = node_of(nodes_[node_of(head)].next.load(std::memory_order_acquire));
      if (head != head_.load(std::memory_order_relaxed))
        continue;
      if (node_of(head) != node_of(tail)) {
        // It must be read first: the node may be used again as soon as the head is behind it.
        value = nodes_[next].value.load(std::memory_order_relaxed);
        if (head_.compare_exchange_strong(head, changed_to(next, head), std::memory_order_acq_rel,
                                          std::memory_order_relaxed))
          return node_of(head);
      } else if (next == 0) {
        return 0;
      } else {
        swing_tail(tail, next);
      }
    }
  }

private:
  // Another thread may have done it before.
  BENCH_INLINE void swing_tail(std::uint64_t from, handle to) {
    tail_.compare_exchange_strong(from, changed_to(to, from), std::memory_order_acq_rel,
                                  std::memory_order_relaxed);
  }

  arena<node, 64> nodes_;
  alignas(apart) std::atomic<std::uint64_t> head_;
  alignas(apart) std::atomic<std::uint64_t> tail_;
};

}  // namespace bench
