// Michael and Scott's queue with a lock for each end. The list always contains one node that was taken
// before, so that a push and a pop need not touch the same words.
//
// Source: Michael and Scott, "Simple, Fast, and Practical Non-Blocking and Blocking Concurrent Queue
// Algorithms", PODC 1996, Figure 2.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "queues.hpp"

namespace bench {

class ms_two_lock_queue {
  struct alignas(64) node {
    std::atomic<node*> next{nullptr};
    std::uint64_t value = 0;
  };

public:
  using handle = node*;

  explicit ms_two_lock_queue(std::size_t count) : nodes_(count + 1) {
    head_.node = tail_.node = &nodes_[count];
  }
  handle at(std::size_t index) { return &nodes_[index]; }

  BENCH_INLINE void push(handle own, std::uint64_t value) {
    own->value = value;
    own->next.store(nullptr, std::memory_order_relaxed);
    const std::lock_guard hold(tail_.lock);
    tail_.node->next.store(own, std::memory_order_release);
    tail_.node = own;
  }
  BENCH_INLINE handle pop(std::uint64_t& value) {
    const std::lock_guard hold(head_.lock);
    const handle before = head_.node;
    const handle first = before->next.load(std::memory_order_acquire);
    if (first == nullptr)
      return nullptr;
    value = first->value;
    head_.node = first;
    return before;
  }

private:
  struct alignas(apart) end {
    sennit::detail::spin_lock lock;
    ms_two_lock_queue::node* node = nullptr;
  };

  std::vector<node> nodes_;
  end head_;
  end tail_;
};

}  // namespace bench
