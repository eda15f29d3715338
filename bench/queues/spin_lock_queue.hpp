// A list under a spin lock. The paper's authors used such a queue on PowerPC, to which they had not ported
// theirs.
//
// Source: Dolan 2013, section 6.2 ("we replaced our optimized queue with a simple spin-lock protected
// queue").
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "queues.hpp"

namespace bench {

class spin_lock_queue {
  struct alignas(64) node {
    node* next = nullptr;
    std::uint64_t value = 0;
  };

public:
  using handle = node*;

  explicit spin_lock_queue(std::size_t count) : nodes_(count) {}
  handle at(std::size_t index) { return &nodes_[index]; }

  BENCH_INLINE void push(handle own, std::uint64_t value) {
    own->value = value;
    own->next = nullptr;
    const std::lock_guard hold(lock_);
    *end_ = own;
    end_ = &own->next;
  }
  BENCH_INLINE handle pop(std::uint64_t& value) {
    handle first = nullptr;
    {
      const std::lock_guard hold(lock_);
      first = first_;
      if (first == nullptr)
        return nullptr;
      first_ = first->next;
      if (first_ == nullptr)
        end_ = &first_;
    }
    value = first->value;
    return first;
  }

private:
  std::vector<node> nodes_;
  alignas(apart) sennit::detail::spin_lock lock_;
  node* first_ = nullptr;
  node** end_ = &first_;
};

}  // namespace bench
