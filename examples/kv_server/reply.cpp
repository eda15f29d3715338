// The growth of buffers, and error replies, which may hold a client's bytes.
#include "reply.hpp"

#include <algorithm>
#include <string>

namespace kv {

// Doubling, so that a byte is copied a bounded number of times, up to the limit.
bool buffer::grow(std::size_t count) {
  constexpr std::size_t smallest_block = 4096;
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

void reply_writer::error(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  std::string clean(text.substr(0, text.find_last_not_of("\r\n") + 1));
  std::replace_if(clean.begin(), clean.end(), [](char byte) { return byte == '\r' || byte == '\n'; }, ' ');
  line('-', clean);
}

}  // namespace kv
