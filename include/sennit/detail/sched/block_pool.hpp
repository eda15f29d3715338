// Memory that a worker keeps for reuse by its fibers: blocks of a few sizes, a limited number of each. One
// thread uses a pool at a time. A block may come from another pool, and return to another one.
#pragma once

#include <bit>
#include <cstddef>
#include <new>
#include <utility>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit::inline v0_1::detail {

class block_pool {
public:
  // 64, 128, ... 512 bytes; then 1, 2, 4, 8 and 16 KiB.
  static constexpr std::size_t step = 64;
  static constexpr std::size_t steps = 8;
  static constexpr std::size_t sizes = steps + 5;

  // Returns the index of the smallest size that holds `bytes`, or `sizes` or more if none does.
  static constexpr std::size_t size_for(std::size_t bytes) noexcept {
    const std::size_t doublings = std::bit_width((bytes - 1) / (step * steps));
    return doublings == 0 ? (bytes - 1) / step : steps - 1 + doublings;
  }
  static constexpr std::size_t bytes_of(std::size_t size) noexcept {
    return size < steps ? (size + 1) * step : step * steps << (size - (steps - 1));
  }
  // The number of blocks of one size that the pool keeps.
  static constexpr unsigned most_of(std::size_t size) noexcept {
    if (size < steps)
      return 32;
    return bytes_of(size) < 8 * 1024 ? static_cast<unsigned>(16 * 1024 / bytes_of(size)) : 2;
  }

  block_pool() = default;
  block_pool(const block_pool&) = delete;
  block_pool& operator=(const block_pool&) = delete;
  ~block_pool() {
    for (list& each : lists_)
      while (each.first != nullptr)
        ::operator delete(std::exchange(each.first, each.first->next));
  }

  // Returns null if the pool has no block of that size.
  void* take(std::size_t size) noexcept {
    list& from = lists_[size];
    if (from.first == nullptr)
      return nullptr;
    --from.count;
    return std::exchange(from.first, from.first->next);
  }
  // Returns false if the pool has enough blocks of that size. The block comes from operator new.
  bool keep(void* block, std::size_t size) noexcept {
    list& to = lists_[size];
    if (to.count == most_of(size))
      return false;
    ++to.count;
    to.first = ::new (block) spare{to.first};
    return true;
  }

private:
  struct spare {
    spare* next;
  };
  struct list {
    spare* first = nullptr;
    unsigned count = 0;
  };
  list lists_[sizes];
};

}  // namespace sennit::inline v0_1::detail
