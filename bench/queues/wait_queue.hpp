// Sennit's wait queue, as its synchronization objects use it: each push and pop holds the lock in its word.
// The policy hands out a waiter instead of waking it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "queues.hpp"
#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_wait_queue.hpp"

namespace bench {

class wait_queue {
  struct alignas(64) node : sennit::detail::waiter {
    std::uint64_t value = 0;
  };
  struct policy : sennit::detail::any_thread {
    // `word` is the address at which the waiter is wanted.
    static bool take(sennit::detail::waiter& w, std::uintptr_t word, sennit::detail::fiber*&) noexcept {
      *reinterpret_cast<node**>(word) = static_cast<node*>(&w);
      return true;
    }
  };
  using queue = sennit::detail::basic_wait_queue<policy>;

public:
  using handle = node*;

  explicit wait_queue(std::size_t count) : nodes_(count) {}
  handle at(std::size_t index) { return &nodes_[index]; }

  BENCH_INLINE void push(handle own, std::uint64_t value) {
    own->value = value;
    queue::guard hold(queue_);
    hold.push(*own);
  }
  BENCH_INLINE handle pop(std::uint64_t& value) {
    handle first = nullptr;
    {
      queue::guard hold(queue_);
      sennit::detail::fiber* woken = nullptr;
      hold.pop(reinterpret_cast<std::uintptr_t>(&first), woken);
    }
    if (first != nullptr)
      value = first->value;
    return first;
  }

private:
  std::vector<node> nodes_;
  alignas(apart) queue queue_;
};

}  // namespace bench
