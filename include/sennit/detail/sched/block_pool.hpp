// Memory that a worker keeps for what its fibers need again and again, and soon: blocks of a few sizes, some
// of each. Used by one thread at a time; a block may come from elsewhere, and go there.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <new>
#include <utility>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit::detail {

class block_pool {
public:
  // 64, 128, ... 512 bytes; then 1, 2, 4, 8 and 16 KiB.
  static constexpr std::size_t step = 64;
  static constexpr std::size_t steps = 8;
  static constexpr std::size_t sizes = steps + 5;

  // Which size holds so many bytes; from `sizes` on: none.
  static constexpr std::size_t size_for(std::size_t bytes) noexcept {
    const std::size_t doublings = std::bit_width((bytes - 1) / (step * steps));
    return doublings == 0 ? (bytes - 1) / step : steps - 1 + doublings;
  }
  static constexpr std::size_t bytes_of(std::size_t size) noexcept {
    return size < steps ? (size + 1) * step : step * steps << (size - (steps - 1));
  }
  // How many of one are kept.
  static constexpr unsigned most_of(std::size_t size) noexcept {
    return size < steps ? 32 : static_cast<unsigned>(std::max<std::size_t>(16 * 1024 / bytes_of(size), 2));
  }

  block_pool() = default;
  block_pool(const block_pool&) = delete;
  block_pool& operator=(const block_pool&) = delete;
  ~block_pool() {
    for (list& each : lists_)
      while (each.first != nullptr)
        ::operator delete(std::exchange(each.first, each.first->next));
  }

  // Null: it has none of that size.
  void* take(std::size_t size) noexcept {
    list& from = lists_[size];
    if (from.first == nullptr)
      return nullptr;
    --from.count;
    return std::exchange(from.first, from.first->next);
  }
  // False: it has enough of that size. The block is of operator new.
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

}  // namespace sennit::detail
