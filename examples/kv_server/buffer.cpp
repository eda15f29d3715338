// Growth of a buffer: doubling, so that a byte is copied a bounded number of times, up to the limit.
#include "buffer.hpp"

#include <algorithm>

namespace kv {

namespace {
constexpr std::size_t smallest_block = 4096;
}

bool buffer::grow(std::size_t count) {
  if (overflowed_ || count > limit_ || size_ > limit_ - count) {
    overflowed_ = true;
    return false;
  }
  const std::size_t wanted = std::max({size_ + count, capacity_ * 2, smallest_block});
  const std::size_t capacity = std::max(size_ + count, std::min(wanted, limit_));
  auto* data = static_cast<char*>(std::realloc(data_, capacity));
  if (data == nullptr) {
    overflowed_ = true;
    return false;
  }
  data_ = data;
  capacity_ = capacity;
  return true;
}

}  // namespace kv
