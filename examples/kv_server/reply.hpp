// The Redis protocol, outgoing side: buffers, and RESP2 replies appended to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "integer.hpp"

namespace kv {

// A growable run of contiguous bytes with a hard limit: what a session reads into and writes replies to.
//
// Unlike std::string it does not clear what it hands out for writing, and it never throws for size:
// an append past the limit (or past what malloc gives) marks the buffer as overflowed and is dropped.
// The owner looks once per command and closes the connection; a reply is never sent cut short.
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

class reply_writer {
public:
  explicit reply_writer(buffer& out) : out_(out) {}

  // Takes back what was written since position() was asked for.
  std::size_t position() const { return out_.size(); }
  void back_to(std::size_t position) { out_.truncate(position); }
  bool overflowed() const { return out_.overflowed(); }  // nothing more is taken

  // Ready-made protocol text, line ends included.
  void raw(std::string_view text) { out_.append(text); }

  void ok() { raw("+OK\r\n"); }
  void null() { raw("$-1\r\n"); }
  void null_array() { raw("*-1\r\n"); }

  // `text` holds neither CR nor LF.
  void simple(std::string_view text) { line('+', text); }

  // Arguments may have found their way into the text: as Redis does, CR and LF become spaces, or are left out
  // at the end, and it ends at the first zero byte. Starts with an upper-case code: "ERR syntax error".
  void error(std::string_view text);

  void integer(std::int64_t value) { number(':', value); }
  void array(std::size_t elements) { number('*', elements); }

  // An array of bulk strings.
  void bulks(std::initializer_list<std::string_view> texts) {
    array(texts.size());
    for (const std::string_view each : texts) {
      bulk(each);
    }
  }

  void bulk(std::string_view bytes) {
    char* to = out_.reserve(bytes.size() + integer_digits + 5);
    if (to == nullptr) {
      return;
    }
    *to++ = '$';
    to = end_line(write_integer(to, bytes.size()));
    if (!bytes.empty()) {
      std::memcpy(to, bytes.data(), bytes.size());
    }
    out_.commit_to(end_line(to + bytes.size()));
  }

private:
  static char* end_line(char* to) {
    std::memcpy(to, "\r\n", 2);
    return to + 2;
  }

  template <std::integral Integer>
  void number(char type, Integer value) {
    if (char* to = out_.reserve(integer_digits + 3)) {
      *to++ = type;
      out_.commit_to(end_line(write_integer(to, value)));
    }
  }

  void line(char type, std::string_view text) {
    if (char* to = out_.reserve(text.size() + 3)) {
      *to++ = type;
      std::memcpy(to, text.data(), text.size());
      out_.commit_to(end_line(to + text.size()));
    }
  }

  buffer& out_;
};

}  // namespace kv
