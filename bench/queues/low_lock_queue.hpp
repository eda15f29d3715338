// The queue of the paper. A push swings the tail, which also holds the object's state in its low bits, and
// then links the node behind the one before. Until it has done so, a thread that wants that node waits. A pop
// takes the first of several nodes by one compare-and-swap of the head. If there is only one, it clears the
// head, so that other takers wait, and then the tail.
//
// A pop reads the link of the first node before it has taken the node, so another thread may have taken it
// and freed its memory: `Read` says how. The paper has two ways: memory that stays a node (stable_read), and
// a signal handler that repairs the read (recovering_read.hpp).
//
// The head also counts its changes, of which the paper says nothing. Without the count, a thread that was
// delayed between the read and the compare-and-swap would lose nodes if the same node is first again.
//
// Source: Dolan 2013, section 6.2, Figures 2 and 3. The way in which a last node is taken follows the
// authors' benchmark (github.com/stedolan/libfib, qbench.cpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "queues.hpp"

namespace bench {

struct stable_read {
  static BENCH_INLINE std::uint32_t link(const std::atomic<std::uint32_t>& next) {
    return next.load(std::memory_order_acquire);
  }
};

template <class Read, std::size_t Stride = 64>
class low_lock_queue {
protected:
  struct node {
    std::atomic<std::uint32_t> next{0};
    std::uint64_t value = 0;
  };
  arena<node, Stride> nodes_;

public:
  using handle = std::uint32_t;

  explicit low_lock_queue(std::size_t count) : nodes_(count) {}
  handle at(std::size_t index) const { return nodes_.offset(index); }

  BENCH_INLINE void push(handle own, std::uint64_t value) {
    nodes_[own].value = value;
    nodes_[own].next.store(0, std::memory_order_relaxed);
    std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    while (!tail_.compare_exchange_weak(tail, own | (tail & state), std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
    }
    if (const handle before = tail & ~state; before != 0)
      nodes_[before].next.store(own, std::memory_order_release);
    else
      set_head(own);
  }

  BENCH_INLINE handle pop(std::uint64_t& value) {
    for (sennit::detail::backoff pause;; pause()) {
      std::uint64_t head = head_.load(std::memory_order_acquire);
      std::uint32_t tail = tail_.load(std::memory_order_acquire);
      const handle first = node_of(head);
      if ((tail & ~state) == 0)
        return 0;
      if (first == 0)
        continue;  // the first node is being added or taken
      const bool is_last = (tail & ~state) == first;
      const handle next = is_last ? 0 : Read::link(nodes_[first].next);
      if ((next == 0 && !is_last) ||
          !head_.compare_exchange_strong(head, changed_to(next, head), std::memory_order_acq_rel,
                                         std::memory_order_relaxed))
        continue;
      if (is_last)
        take_last(first, tail);
      value = nodes_[first].value;
      return first;
    }
  }

private:
  static constexpr std::uint32_t state = 3;

  // Only one thread calls it at a time: the head names no node.
  BENCH_INLINE void set_head(handle to) {
    head_.store(changed_to(to, head_.load(std::memory_order_relaxed)), std::memory_order_release);
  }
  BENCH_INLINE void take_last(handle last, std::uint32_t tail) {
    do {
      if (tail_.compare_exchange_strong(tail, tail & state, std::memory_order_acq_rel,
                                        std::memory_order_acquire))
        return;
    } while ((tail & ~state) == last);
    // Another node has been added behind it.
    handle next = 0;
    for (sennit::detail::backoff pause; (next = nodes_[last].next.load(std::memory_order_acquire)) == 0;)
      pause();
    set_head(next);
  }

  // 0 stands for the sentinel in both.
  alignas(apart) std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint32_t> tail_{0};
};

}  // namespace bench
