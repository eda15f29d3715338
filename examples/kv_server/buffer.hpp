// A growable run of contiguous bytes with a hard limit: what a session reads into and writes replies to.
//
// Unlike std::string it does not clear what it hands out for writing, and it never throws for size:
// an append past the limit (or past what malloc gives) marks the buffer as overflowed and is dropped.
// The owner looks once per command and closes the connection; a reply is never sent cut short.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace kv {

class buffer {
public:
  explicit buffer(std::size_t limit) : limit_(limit) {}
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  ~buffer() { std::free(data_); }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool overflowed() const { return overflowed_; }
  std::string_view view() const { return {data_, size_}; }

  // Room for `count` bytes at the end, or nullptr after marking the overflow. `commit` what was written.
  char* reserve(std::size_t count) {
    return count > capacity_ - size_ && !grow(count) ? nullptr : data_ + size_;
  }
  void commit(std::size_t count) { size_ += count; }
  void commit_to(const char* end) { size_ = static_cast<std::size_t>(end - data_); }

  // All the room there is at the end, at least `count` bytes; empty after an overflow.
  std::span<char> free_space(std::size_t count) {
    char* begin = reserve(count);
    return begin == nullptr ? std::span<char>{} : std::span<char>{begin, capacity_ - size_};
  }

  void append(std::string_view bytes) {
    char* to = bytes.empty() ? nullptr : reserve(bytes.size());
    if (to != nullptr) {
      std::memcpy(to, bytes.data(), bytes.size());
      size_ += bytes.size();
    }
  }

  void drop_front(std::size_t count) {
    size_ -= count;
    if (size_ != 0 && count != 0) {
      std::memmove(data_, data_ + count, size_);
    }
  }
  void clear() { size_ = 0; }
  void truncate(std::size_t size) { size_ = size; }

  // Gives the memory back; limit and overflow mark stay.
  void release() {
    std::free(data_);
    data_ = nullptr;
    size_ = capacity_ = 0;
  }

  // Exchanges memory and contents, not the limits: how sessions pass one warm block on to each other.
  void swap_storage(buffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

private:
  bool grow(std::size_t count);  // reply.cpp

  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t limit_;
  bool overflowed_ = false;
};

}  // namespace kv
